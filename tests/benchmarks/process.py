"""A contestant in its own process: start, tell, and read from outside what it used."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.contestants import Contestant

_STOP_S: Final = 10.0


class ServerProcess:
    """A running contestant."""

    def __init__(self, contestant: Contestant, process: subprocess.Popen[str]) -> None:
        self.contestant = contestant
        self._process = process
        self.port: int = self._answer()["port"]

    def tell(self, do: str, uri: str, **how: object) -> dict[str, Any]:
        """Gives a command and waits until it is done."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, "uri": uri, **how}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    @property
    def cpu_s(self) -> float:
        """CPU time of the process so far, user and system, to the nanosecond.

        The kernel's clock of a process by its id (clock_getcpuclockid): `/proc/PID/stat` counts in steps of 10 ms.
        """
        return time.clock_gettime((~self._process.pid << 3) | 2)

    @property
    def resident_bytes(self) -> int:
        """Memory of the process that is resident."""
        return self._memory("smaps_rollup", "Rss")

    @property
    def peak_bytes(self) -> int:
        """The most that was ever resident."""
        return self._memory("status", "VmHWM")

    def _memory(self, file: str, name: str) -> int:
        text = Path(f"/proc/{self._process.pid}/{file}").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
        assert found is not None, text
        return int(found[1]) * 1024

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.contestant.name} ended with status {self._process.wait(_STOP_S)}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def running(*contestants: Contestant) -> Iterator[list[ServerProcess]]:
    """Runs contestants while the context lasts; they start side by side."""
    with ExitStack() as stack:
        started = [(contestant, stack.enter_context(_process(contestant))) for contestant in contestants]
        yield [ServerProcess(contestant, process) for contestant, process in started]


@contextmanager
def _process(contestant: Contestant) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", contestant.module, *contestant.arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=child_environment()
    ) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def child_environment() -> dict[str, str]:
    """Gives an environment in which `benchmarks` can be imported."""
    here = str(Path(__file__).resolve().parents[1])
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": here if path is None else f"{here}{os.pathsep}{path}"}
