"""One run of a build: its process group, and its log, which takes what the command writes as it comes."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import time
from collections import deque
from contextlib import ExitStack
from datetime import datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Final, Literal

from streamres.builds.group import STOP_S, end_group, guarded
from streamres.errors import LimitExceeded, StreamresError
from streamres.sources.command import DRAIN_S, Channel, open_pipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamres.app import Server
    from streamres.builds.config import Build
    from streamres.sources.resource import Resource

logger = logging.getLogger("streamres.builds")

TAIL_LINES: Final = 50
TAIL_BYTES: Final = 8 * 1024
"""What a result shows of the end of a log."""

State = Literal["running", "ended", "cancelled", "timed_out", "failed"]


class Run:
    """One run. Its command has a session and so a process group of its own, and an empty standard input.

    What the command leaves in its group is ended with it; what is to go on has to leave the group, as daemons do.
    """

    def __init__(self, build: Build, argv: Sequence[str], server: Server) -> None:
        self.build = build
        self.uri = f"build://{build.name}/{datetime.now():%Y%m%d-%H%M%S}-{token_hex(3)}"
        """That of its log."""
        self.state: State = "running"
        self.exit_code: int | None = None
        """As a shell gives it, 128 and more for a signal; None while it runs, and where it never did."""
        self.killed_by: int | None = None
        """The signal that ended the command, if one did."""
        self.why: str | None = None
        """What went wrong beside the command."""
        self._argv = argv
        self._server = server
        self._left_bytes = server.limits.output_bytes
        self._began = time.monotonic()
        self._took: float | None = None
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._stopped: State | None = None  # why it was stopped from outside
        self._told = asyncio.Event()
        self._log: asyncio.Future[Resource] = asyncio.get_running_loop().create_future()
        self._running: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        """Says whether it has ended, however; its log is sealed then."""
        return self.state != "running"

    @property
    def seconds(self) -> float:
        """How long it took, or takes so far."""
        return time.monotonic() - self._began if self._took is None else self._took

    def start(self) -> None:
        """Starts it, in a task of its own: it ends in order though who started it is cancelled."""
        self._running = asyncio.create_task(self._run(), name=f"build {self.build.name}")

    async def log(self) -> Resource:
        """Gives its log, once that is made.

        Raises:
            StreamresError: it cannot be made, and the run has failed.
        """
        return await asyncio.shield(self._log)

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Says whether it has ended within so many seconds."""
        assert self._running is not None
        done, _ = await asyncio.wait([self._running], timeout=timeout_s)
        return bool(done)

    async def cancel(self) -> None:
        """Stops the command with its process group, and returns when it has ended; twice is once."""
        self._stop("cancelled", None)
        await self.wait()

    def tail(self) -> str:
        """Gives the last lines of the log, as far as they are few."""
        end = b"".join(self._tail)[-TAIL_BYTES:].decode("utf-8", "ignore")
        lines = end.split("\n")
        # Of the last piece of the split nothing is a line where the text ends with one.
        return "\n".join(lines[-TAIL_LINES - 1 :])

    def _stop(self, state: State, why: str | None) -> None:
        """Says why it is to stop; the first reason counts."""
        if self._stopped is None:
            self._stopped, self.why = state, why
            self._told.set()

    async def _run(self) -> None:
        build = self.build
        try:
            log = await self._server.create(
                self.uri, name=build.name, title=build.title, description=shlex.join(self._argv)
            )
        except Exception as exc:
            self._end("failed", str(exc))
            self._log.set_exception(exc)
            self._log.exception()  # asked for, should the caller be gone
            return
        self._log.set_result(log)
        with ExitStack() as held:
            try:
                held.enter_context(self._server.hold(self.uri))
                if not self._told.is_set():
                    await self._follow_command(log)
            except (OSError, StreamresError) as exc:
                self._stop("failed", str(exc))
            except Exception as exc:
                logger.exception("a run of %s failed", build.name)
                self._stop("failed", f"{type(exc).__name__}: {exc}")
            state = self._stopped or "ended"
            # A command that a signal ended has not said all that it had to say.
            is_whole = state == "ended" and self.killed_by is None
            try:
                await log.seal("complete" if is_whole else "aborted")
            except StreamresError as exc:
                self.why = str(exc)
            self._end(state, self.why)

    def _end(self, state: State, why: str | None) -> None:
        self._took = time.monotonic() - self._began
        self.state, self.why = state, why

    async def _follow_command(self, log: Resource) -> None:
        async with guarded() as watch:
            source, sink = open_pipe()
            channel = Channel(source)
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._argv,
                    cwd=self.build.cwd,
                    env={**os.environ, **self.build.env},
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=sink,
                    stderr=asyncio.subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as exc:
                channel.close()
                self._stop("failed", f"{self._argv[0]}: {(exc.strerror or str(exc)).lower()}")
                return
            finally:
                os.close(sink)
            watch(process.pid)
            await self._follow(process, channel, log)
        if process.returncode is not None:
            code = process.returncode
            self.exit_code = code if code >= 0 else 128 - code
            self.killed_by = None if code >= 0 else -code

    async def _follow(self, process: asyncio.subprocess.Process, channel: Channel, log: Resource) -> None:
        """Returns when the command has ended, or was stopped, and the log has all that it wrote."""
        pumping = asyncio.create_task(self._pump(channel, log))
        ending = asyncio.create_task(process.wait())
        told = asyncio.create_task(self._told.wait())
        first = asyncio.FIRST_COMPLETED
        try:
            done, _ = await asyncio.wait([ending, told], timeout=self.build.timeout_s, return_when=first)
            if not done:
                self._stop("timed_out", f"it did not end within {self.build.timeout_s:g} s")
            elif not told.done():  # children that outlive the command are heard for a while
                await asyncio.wait([pumping, told], timeout=DRAIN_S, return_when=first)
            await end_group(process.pid)
            await asyncio.wait([ending], timeout=STOP_S)
            channel.expect_no_more()
            await pumping
        finally:
            for task in (pumping, ending, told):
                task.cancel()

    async def _pump(self, channel: Channel, log: Resource) -> None:
        try:
            await channel.pump(lambda data: self._take(log, data))
        except StreamresError as exc:
            self._stop("failed", str(exc))

    async def _take(self, log: Resource, data: bytes) -> bool:
        kept = data[: self._left_bytes]
        await log.append(kept)  # a store that is slow slows the command
        self._left_bytes -= len(kept)
        self._tail.append(kept[-TAIL_BYTES:])
        self._tail_bytes += len(self._tail[-1])
        while self._tail_bytes - len(self._tail[0]) >= TAIL_BYTES:
            self._tail_bytes -= len(self._tail.popleft())
        if len(kept) < len(data):
            raise LimitExceeded(
                "output_bytes", self._server.limits.output_bytes, "let the build write less; the log ends there"
            )
        await asyncio.sleep(0)  # a command that floods a store that is fast leaves others their turn
        return True
