"""The tools `run_build`, `cancel_build` and `read_output`, over the builds of one file."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
from pydantic import Field

from streamres.builds.arguments import command_of
from streamres.builds.reading import read_text
from streamres.builds.run import Run
from streamres.errors import CursorInvalid, ResourceNotFound, ToolError
from streamres.tools import Context, Text, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamres.app import Server
    from streamres.builds.config import Build

TASK_AFTER_S: Final = 1.0
"""Seconds after which a run becomes a task, for a client that takes tasks."""

WAIT_S: Final = 20.0
"""Seconds that a client without tasks waits by default: below what hosts cut a call after."""

MAX_BYTES: Final = 64 * 1024
"""What `read_output` gives at once by default."""

RUNS_KEPT: Final = 1_000
"""Runs of which the server knows how they ended; the logs of others are in the store."""

_MOST_BYTES: Final = 1024 * 1024
_SLACK_S: Final = 60.0

_RESULT: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "uri": {"type": "string", "description": "The log; read_output reads on from here."},
        "state": {"enum": ["running", "ended", "cancelled", "timed_out", "failed"]},
        "exit_code": {"type": ["integer", "null"]},
        "seconds": {"type": "number"},
    },
    "required": ["name", "uri", "state", "exit_code", "seconds"],
}


class Builds:
    """The builds of one server, and their runs."""

    def __init__(self, server: Server, builds: Sequence[Build]) -> None:
        self._server = server
        self._builds = {build.name: build for build in builds}
        self._runs: dict[str, Run] = {}

    async def run(self, context: Context, given: Mapping[str, Any]) -> ToolResult:
        """Runs a build, and gives its result, or after `wait_s` that it still runs."""
        build = self._builds[given["name"]]
        argv = command_of(build.command, build.arguments, given.get("arguments", {}))
        running = [uri for uri, run in self._runs.items() if run.build is build and not run.over]
        if len(running) >= build.concurrency:
            raise ToolError(
                f"{build.name} runs already, {len(running)} of {build.concurrency} at a time; wait for it with"
                f" read_output, or stop it with cancel_build: {', '.join(running)}"
            )
        run = await self._begin(build, argv)
        await context.link(run.log)
        try:
            ended = await run.wait(None if context.takes_tasks else given.get("wait_s", WAIT_S))
        except BaseException:
            await run.cancel()
            raise
        return _result(run) if ended else _still_running(run)

    async def cancel(self, uri: str) -> ToolResult:
        """Stops a run of `run_build` with all that it started; its log ends `aborted`."""
        run = self._runs.get(uri)
        if run is None:
            raise ToolError(f"this server does not run {uri!r}")
        if not run.over:
            await run.cancel()
        return _result(run)

    async def read(
        self,
        uri: str,
        since: str | None = None,
        wait_ms: Annotated[int, Field(ge=0, description="Waits for news so long.")] = 0,
        max_bytes: Annotated[int, Field(ge=1, le=_MOST_BYTES)] = MAX_BYTES,
    ) -> ToolResult:
        """Reads the log of a build: its text after the cursor `since`, and the cursor to go on from.

        Call it again with `since` until `state` is not `open`.
        """
        if not any(uri.startswith(f"build://{name}/") for name in self._builds):
            raise ToolError(f"{uri!r} is no log of a build of this server")
        server = self._server
        try:
            answer = await read_text(server.store, server.limits, uri, since, wait_ms, max_bytes)
        except (ResourceNotFound, CursorInvalid) as exc:
            raise ToolError(str(exc)) from exc
        standing = f"[cursor {answer['cursor']}, {'more to read' if answer['more'] else answer['state']}]"
        return ToolResult(content=[Text(answer["text"]), Text(standing)], structured=answer)

    async def end_all(self) -> None:
        """Stops every run, and returns when their logs are sealed."""
        async with anyio.create_task_group() as group:
            for run in self._runs.values():
                if not run.over:
                    group.start_soon(run.cancel)

    async def _begin(self, build: Build, argv: Sequence[str]) -> Run:
        uri = f"build://{build.name}/{datetime.now():%Y%m%d-%H%M%S}-{token_hex(3)}"
        log = await self._server.create(uri, name=build.name, title=build.title, description=" ".join(argv))
        run = self._runs[uri] = Run(build, log, self._server.limits)
        while len(self._runs) > RUNS_KEPT and (over := next((u for u, r in self._runs.items() if r.over), None)):
            del self._runs[over]
        held = ExitStack()
        held.enter_context(self._server.hold(uri))
        run.start(argv, held.close)
        return run


def offer_builds(server: Server, builds: Sequence[Build]) -> Builds:
    """Offers the builds as tools of a server."""
    offered = Builds(server, builds)
    server.tool(
        "run_build",
        title="Run a build",
        description="Runs one of these commands and follows its output:\n" + "\n".join(map(_described, builds)),
        input_schema={
            "type": "object",
            "properties": {
                "name": {"enum": [build.name for build in builds]},
                "arguments": {"type": "object", "description": "What the build takes, by name."},
                "wait_s": {
                    "type": "number",
                    "minimum": 0,
                    "description": f"Answers after so many seconds at the latest, by default {WAIT_S:g};"
                    " the build goes on, and read_output reads on.",
                },
            },
            "required": ["name"],
            "additionalProperties": False,
        },
        output_schema=_RESULT,
        streaming=True,
        task_after_s=TASK_AFTER_S,
        timeout_s=max(build.timeout_s for build in builds) + _SLACK_S,
    )(offered.run)
    server.tool("cancel_build", title="Stop a build", output_schema=_RESULT)(offered.cancel)
    server.tool("read_output", title="Read a build's log", annotations={"readOnlyHint": True})(offered.read)
    return offered


def _described(build: Build) -> str:
    says = f"- {build.name}: {build.description or ' '.join(build.command)}"
    return "\n".join([says, *(f"    {argument.described()}" for argument in build.arguments.values())])


def _result(run: Run) -> ToolResult:
    name = run.build.name
    match run.state:
        case "ended" if run.exit_code == 0:
            first = f"{name} succeeded"
        case "ended":
            first = f"{name} failed: exit status {run.exit_code}"
        case "cancelled":
            first = f"{name} was cancelled"
        case _:
            first = f"{name} failed: {run.why}"
    return _told(run, f"{first}, after {run.seconds:.1f} s", is_error=run.exit_code != 0)


def _still_running(run: Run) -> ToolResult:
    return _told(run, f"{run.build.name} still runs, since {run.seconds:.1f} s; read on with read_output")


def _told(run: Run, first: str, *, is_error: bool = False) -> ToolResult:
    uri = run.log.uri
    tail = run.tail()
    text = f"{first}\nlog: {uri}\n" + (f"its last lines:\n{tail}" if tail else "it has written nothing\n")
    return ToolResult(
        content=[Text(text)],
        structured={
            "name": run.build.name,
            "uri": uri,
            "state": run.state,
            "exit_code": run.exit_code,
            "seconds": round(run.seconds, 3),
        },
        is_error=is_error,
    )
