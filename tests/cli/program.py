"""Runs `streamres` as a user does: a process of its own, real pipes, real signals."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

TIMEOUT_S = 60


def streamres(*args: str, stdin: bytes = b"", timeout_s: float = TIMEOUT_S) -> subprocess.CompletedProcess[bytes]:
    """Runs one command line to its end."""
    return subprocess.run(
        [sys.executable, "-m", "streamres", *args],
        input=stdin,
        capture_output=True,
        timeout=timeout_s,
        check=False,
        env=environment(),
    )


_DATA = tempfile.TemporaryDirectory(prefix="streamres-")


def environment() -> dict[str, str]:
    """That of a user of its own: what one keeps, another does not see."""
    data = tempfile.mkdtemp(dir=_DATA.name)
    return {**os.environ, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1", "XDG_DATA_HOME": data}


class Live:
    """A `streamres run` or `serve` that is under way."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.process = process
        self.url = url

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    def end(self) -> tuple[int, bytes, str]:
        """Waits for the end: exit code, standard output, what was said after the URL."""
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out or b"", err.decode()


@contextmanager
def live(*args: str, stdout: int = subprocess.PIPE) -> Iterator[Live]:
    """Starts one and gives it once it says where it is live."""
    process = subprocess.Popen(
        [sys.executable, "-m", "streamres", *args],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline().decode()
        found = re.search(r"at (http://\S+)", line)
        assert found is not None, line + process.stderr.read().decode()
        yield Live(process, found[1])
    finally:
        process.kill()
        process.wait(TIMEOUT_S)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@contextmanager
def started(*args: str) -> Iterator[subprocess.Popen[bytes]]:
    """Starts any other command line, with a pipe at each end."""
    with subprocess.Popen(
        [sys.executable, "-m", "streamres", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def written(process: subprocess.Popen[bytes], data: bytes) -> None:
    """Writes to its standard input."""
    assert process.stdin is not None
    process.stdin.write(data)
    process.stdin.flush()


def line_of(process: subprocess.Popen[bytes]) -> bytes:
    """The next line of its standard output."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "it has ended"
    return line


def python(code: str) -> Sequence[str]:
    """A command that runs `code`."""
    return [sys.executable, "-u", "-c", code]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
