"""The tools `run_build`, `cancel_build` and `read_output`, over the builds of one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
from pydantic import Field

from streamres.builds.arguments import command_of
from streamres.builds.reading import read_text
from streamres.builds.run import Run
from streamres.builds.schema import READ, RUN, WAIT_S, described, takes
from streamres.errors import CursorInvalid, ResourceNotFound, StreamresError, ToolError
from streamres.tools import Context, Text, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamres.app import Server
    from streamres.builds.config import Build

TASK_AFTER_S: Final = 1.0
"""Seconds after which a run becomes a task, for a client that takes tasks."""

MAX_BYTES: Final = 16 * 1024
"""What `read_output` gives at once by default: some thousand tokens, which every host takes."""

RUNS_KEPT: Final = 1_000
"""Runs of which the server knows how they ended; the logs of others are in the store."""

_MOST_BYTES: Final = 1024 * 1024
_SLACK_S: Final = 60.0


class Builds:
    """The builds of one server, and their runs."""

    def __init__(self, server: Server, builds: Sequence[Build]) -> None:
        self._server = server
        self._builds = {build.name: build for build in builds}
        self._runs: dict[str, Run] = {}

    async def run(self, context: Context, given: Mapping[str, Any]) -> ToolResult:
        """Runs a build, and gives its result, or after `wait_s` that it still runs."""
        build = self._builds[given["name"]]
        run = self._start(build, command_of(build.command, build.arguments, given.get("arguments", {})))
        try:
            await context.link(await run.log())
            ended = await run.wait(None if context.takes_tasks else given.get("wait_s", WAIT_S))
        except BaseException as exc:
            await run.cancel()
            if isinstance(exc, StreamresError):
                raise ToolError(f"{build.name} failed: {exc}") from exc
            raise
        if not ended:
            return await _told(
                run, f"{build.name} still runs, since {run.seconds:.1f} s; read on with read_output"
            )
        is_error = run.state != "ended" or run.exit_code != 0 or run.why is not None
        return await _told(run, _outcome(run), is_error=is_error)

    async def cancel(self, uri: str) -> ToolResult:
        """Stops what `run_build` started, and what that started; `uri` is its log, which ends `aborted`."""
        run = self._runs.get(uri)
        if run is None:
            raise ToolError(f"{uri!r} is no build that this server has started")
        await run.cancel()
        return await _told(run, _outcome(run))

    async def read(
        self,
        uri: str,
        since: Annotated[str, Field(description="A cursor; without one it reads from the beginning.")] = "",
        wait_ms: Annotated[
            int, Field(ge=0, description="Without news it waits for some for so long, 30000 at most.")
        ] = 0,
        max_bytes: Annotated[
            int, Field(ge=1, le=_MOST_BYTES, description="The most to give at once.")
        ] = MAX_BYTES,
    ) -> ToolResult:
        """Reads the log of a build; see the description of the tool."""
        if not any(uri.startswith(f"build://{name}/") for name in self._builds):
            raise ToolError(f"{uri!r} is no log of a build of this server")
        server = self._server
        try:
            answer = await read_text(server.store, server.limits, uri, since or None, wait_ms, max_bytes)
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

    def _start(self, build: Build, argv: Sequence[str]) -> Run:
        """Starts a run where there is room. Nothing is waited for in between, so no two can take one place."""
        running = [uri for uri, run in self._runs.items() if run.build is build and not run.over]
        if len(running) >= build.concurrency:
            raise ToolError(
                f"{build.name} runs already, {len(running)} of {build.concurrency} at a time; wait for it with"
                f" read_output, or stop it with cancel_build: {', '.join(running)}"
            )
        run = Run(build, argv, self._server)
        self._runs[run.uri] = run
        while len(self._runs) > RUNS_KEPT and (over := next((u for u, r in self._runs.items() if r.over), None)):
            del self._runs[over]
        run.start()
        return run


def offer_builds(server: Server, builds: Sequence[Build]) -> Builds:
    """Offers the builds as tools of a server."""
    offered = Builds(server, builds)
    server.tool(
        "run_build",
        title="Run a build",
        description="Runs one of these commands and follows its output:\n" + "\n".join(map(described, builds)),
        input_schema=takes(builds),
        output_schema=RUN,
        streaming=True,
        task_after_s=TASK_AFTER_S,
        timeout_s=max(build.timeout_s for build in builds) + _SLACK_S,
    )(offered.run)
    server.tool("cancel_build", title="Stop a build", output_schema=RUN)(offered.cancel)
    server.tool(
        "read_output",
        title="Read a build's log",
        description="Reads the log of a build: its text after the cursor `since`, and the cursor to go on from."
        " Call it again with that, and with wait_ms, until `state` is not `open` and there is no more.",
        output_schema=READ,
        annotations={"readOnlyHint": True},
    )(offered.read)
    return offered


def _outcome(run: Run) -> str:
    name = run.build.name
    after = f"after {run.seconds:.1f} s"
    match run.state:
        case "ended" if run.why is not None:
            return f"{name} has ended with exit status {run.exit_code}, but its log is cut: {run.why}"
        case "ended" if run.killed_by is not None:
            return f"{name} failed: killed by signal {run.killed_by}, {after}"
        case "ended" if run.exit_code == 0:
            return f"{name} succeeded, {after}"
        case "ended":
            return f"{name} failed: exit status {run.exit_code}, {after}"
        case "cancelled":
            return f"{name} was cancelled, {after}"
        case _:
            return f"{name} failed: {run.why}, {after}"


async def _told(run: Run, first: str, *, is_error: bool = False) -> ToolResult:
    log, tail = await run.log(), run.tail()
    text = f"{first}\nlog: {log.uri}\n" + (f"its last lines:\n{tail}" if tail else "it has written nothing\n")
    structured = {
        "name": run.build.name,
        "uri": log.uri,
        "state": run.state,
        "seconds": round(run.seconds, 3),
        "cursor": log.cursor,
        "tail": tail,
    }
    if run.exit_code is not None:
        structured["exit_code"] = run.exit_code
    return ToolResult(content=[Text(text)], structured=structured, is_error=is_error)
