"""The server processes of a cell: started from one that has everything loaded, told what to do, killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from streamres.compare.server import MESSAGE_BYTES, Spec, main
from streamres.errors import StreamresError

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext
    from typing import Self

_START_S: Final = 30.0
_LOADED: Final = ["__main__", "streamres.compare.server", "uvloop", "anyio._backends._asyncio"]
"""What every server process would load first; it is forked from one that has it."""


class ServerLost(StreamresError):
    """A server process ended by itself, or does not begin to serve."""


def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    return context


class ServerProcess:
    """One server process; made by `start`."""

    def __init__(self, process: Any, control: socket.socket) -> None:  # noqa: ANN401
        self._process = process
        self._control = control
        self.port = 0
        self.cpu_at_start_ns = 0
        """CPU time that it took to begin to serve."""

    @classmethod
    async def start(cls, spec: Spec) -> Self:
        """Starts one and gives it when it serves.

        Raises:
            ServerLost: it does not.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        process = _context().Process(target=main, args=(spec, theirs), daemon=True)
        server = cls(process, ours)
        try:
            process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        try:
            with anyio.fail_after(_START_S):
                server.port = (await server._answer())["port"]
                server.cpu_at_start_ns = server.cpu_ns
        except TimeoutError as exc:
            server.kill()
            raise ServerLost("the server does not begin to serve") from exc
        return server

    async def advance(self, count: int, *, ended: bool) -> float:
        """Lets the work go on to its `count`-th change; gives when it did, by `time.monotonic`."""
        self._control.send(json.dumps({"count": count, "ended": ended}).encode())
        at: float = (await self._answer())["at"]
        return at

    def kill(self) -> None:
        """Ends it as a power cut does."""
        self._process.kill()
        self._process.join()
        self._control.close()

    @property
    def cpu_ns(self) -> int:
        """CPU time so far, user and system, by the kernel's clock of the process (clock_getcpuclockid)."""
        return time.clock_gettime_ns((~self._pid << 3) | 2)

    @property
    def sleeps(self) -> bool:
        """Says whether each of its threads waits for something."""
        for thread in os.listdir(f"/proc/{self._pid}/task"):
            with suppress(FileNotFoundError, ProcessLookupError):
                stat = Path(f"/proc/{self._pid}/task/{thread}/stat").read_bytes()
                if stat.rpartition(b") ")[2][:1] != b"S":
                    return False
        return True

    @property
    def peak_bytes(self) -> int:
        """The most memory that was ever resident."""
        lines = Path(f"/proc/{self._pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))

    @property
    def _pid(self) -> int:
        pid: int = self._process.pid
        return pid

    async def _answer(self) -> dict[str, Any]:
        await anyio.wait_readable(self._control)
        data = self._control.recv(MESSAGE_BYTES)
        if not data:
            self._process.join(1)
            raise ServerLost(f"the server ended with status {self._process.exitcode}")
        answer: dict[str, Any] = json.loads(data)
        return answer
