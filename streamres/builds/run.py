"""One run of a build: its process group, and its log, which takes what the command writes as it comes."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

from streamres.errors import LimitExceeded, StreamresError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamres.builds.config import Build
    from streamres.limits import Limits
    from streamres.sources.resource import Resource

STOP_S: Final = 5.0
"""Seconds that a command has to end after SIGTERM; then its whole process group is killed."""

DRAIN_S: Final = 1.0
"""Seconds for which children are heard that outlive the command and hold its output open."""

TAIL_LINES: Final = 50
TAIL_BYTES: Final = 8 * 1024
"""What a result shows of the end of a log."""

_READ_BYTES: Final = 64 * 1024

State = Literal["running", "ended", "cancelled", "timed_out", "failed"]


class Run:
    """One run. Its command has a process group of its own, and an empty standard input."""

    def __init__(self, build: Build, log: Resource, limits: Limits) -> None:
        self.build = build
        self.log = log
        self.state: State = "running"
        self.exit_code: int | None = None
        """As a shell gives it, 128 and more for a signal; None while it runs, and where it never did."""
        self.why: str | None = None
        """What went wrong beside the command."""
        self._limits = limits
        self._began = time.monotonic()
        self._took: float | None = None
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._running: asyncio.Task[None] | None = None
        self._ended: Callable[[], None]

    @property
    def over(self) -> bool:
        """Says whether it has ended, however."""
        return self.state != "running"

    @property
    def seconds(self) -> float:
        """How long it took, or takes so far."""
        return time.monotonic() - self._began if self._took is None else self._took

    def start(self, argv: Sequence[str], ended: Callable[[], None]) -> None:
        """Starts the command; `ended` is called when its log is sealed."""
        self._ended = ended
        self._running = asyncio.create_task(self._run(argv), name=f"build {self.build.name}")

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Says whether it has ended within so many seconds; its log is sealed then."""
        assert self._running is not None
        done, _ = await asyncio.wait([self._running], timeout=timeout_s)
        return bool(done)

    async def cancel(self) -> None:
        """Stops the command with all that it started in its process group, and returns when it has ended."""
        assert self._running is not None
        self._running.cancel()
        await asyncio.wait([self._running])

    def tail(self) -> str:
        """Gives the last lines of the log, as far as they are few."""
        lines = b"".join(self._tail).decode("utf-8", "replace").splitlines(keepends=True)
        return "".join(lines[-TAIL_LINES:])[-TAIL_BYTES:]

    async def _run(self, argv: Sequence[str]) -> None:
        # A pipe of our own: one that the process has is closed only at its end, which escaped children hold up.
        source, sink = os.pipe()
        output = asyncio.StreamReader(_READ_BYTES)
        loop = asyncio.get_running_loop()
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(output), os.fdopen(source, "rb", 0)
        )
        try:
            await self._run_into(argv, sink, output)
        finally:
            reading.close()

    async def _run_into(self, argv: Sequence[str], sink: int, output: asyncio.StreamReader) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=self.build.cwd,
                env={**os.environ, **self.build.env},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=sink,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as exc:
            await self._end("failed", f"{argv[0]}: {(exc.strerror or str(exc)).lower()}")
            return
        finally:
            os.close(sink)
        pumping = asyncio.create_task(self._pump(output))
        try:
            async with asyncio.timeout(self.build.timeout_s):
                code = await self._wait(process, pumping)
        except TimeoutError:
            await self._stop(process, pumping)
            await self._end("timed_out", f"it did not end within {self.build.timeout_s:g} s")
        except asyncio.CancelledError:
            await self._stop(process, pumping)
            await self._end("cancelled", None)
        except StreamresError as exc:
            await self._stop(process, pumping)
            await self._end("failed", str(exc))
        else:
            pumping.cancel()
            self.exit_code = code if code >= 0 else 128 - code
            await self._end("ended", None)

    async def _wait(self, process: asyncio.subprocess.Process, pumping: asyncio.Task[None]) -> int:
        """Gives how the command ended; raises what its output cannot be kept for."""
        waiting = asyncio.create_task(process.wait())
        try:
            await asyncio.wait([pumping, waiting], return_when=asyncio.FIRST_COMPLETED)
            if pumping.done():
                pumping.result()
            code = await waiting
            done, _ = await asyncio.wait([pumping], timeout=DRAIN_S)
            for ended in done:
                ended.result()
            return code
        finally:
            waiting.cancel()

    async def _pump(self, output: asyncio.StreamReader) -> None:
        left = self._limits.output_bytes
        while data := await output.read(_READ_BYTES):
            if len(data) > left:
                raise LimitExceeded("output_bytes", self._limits.output_bytes, "let the build write less")
            left -= len(data)
            await self.log.append(data)  # a store that is slow slows the command
            self._tail.append(data)
            self._tail_bytes += len(data)
            while self._tail_bytes - len(self._tail[0]) >= TAIL_BYTES:
                self._tail_bytes -= len(self._tail.popleft())

    async def _stop(self, process: asyncio.subprocess.Process, pumping: asyncio.Task[None]) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await process.wait()
                    break
        # The command has ended; what it started may have not.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.wait([pumping], timeout=DRAIN_S)
        pumping.cancel()

    async def _end(self, state: State, why: str | None) -> None:
        self.why = why
        self._took = time.monotonic() - self._began
        try:
            await self.log.seal("complete" if state == "ended" else "aborted")
        except StreamresError as exc:
            self.why = str(exc)
        self.state = state
        self._ended()
