"""`streamres run` in a real terminal: a pseudo-terminal with its own session, as a terminal window has."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cli.program import TIMEOUT_S, environment, python, streamres


class Terminal:
    """What a person sees and types."""

    def __init__(self, fd: int, pid: int) -> None:
        self._fd = fd
        self._pid = pid
        self.seen = b""

    def type(self, keys: bytes) -> None:
        os.write(self._fd, keys)

    def resize(self, *, columns: int) -> None:
        termios.tcsetwinsize(self._fd, (33, columns))

    def wait_for(self, pattern: bytes) -> re.Match[bytes]:
        end = time.monotonic() + TIMEOUT_S
        while (found := re.search(pattern, self.seen)) is None:
            assert self._read(end - time.monotonic()), self.seen
        return found

    def exit_code(self) -> int:
        end = time.monotonic() + TIMEOUT_S
        while self._read(end - time.monotonic()):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self, timeout_s: float) -> bytes:
        ready, _, _ = select.select([self._fd], [], [], max(0, timeout_s))
        assert ready, self.seen
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return b""
        self.seen += data
        return data


@contextmanager
def terminal(*args: str) -> Iterator[Terminal]:
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-m", "streamres", *args], environment())
    termios.tcsetwinsize(fd, (33, 77))
    try:
        yield Terminal(fd, pid)
    finally:
        os.close(fd)


def url_in(seen: Terminal) -> str:
    return seen.wait_for(rb"live at (http://[\w.:/]+)")[1].decode()


def test_the_command_sees_a_terminal_of_the_same_size_and_the_log_has_its_very_bytes() -> None:
    code = (
        "import os; print([os.isatty(n) for n in range(3)]);"
        "print(*[f'\\r\\x1b[32m{n}%\\x1b[0m' for n in range(3)], sep='');"
        "input('go? '); print(os.get_terminal_size(1).columns)"
    )
    with terminal("run", "--port", "0", "--linger", "60", "--", *python(code)) as seen:
        url = url_in(seen)
        seen.wait_for(rb"go\? ")
        seen.type(b"secret\n")
        seen.wait_for(rb"served for")

        log = streamres("tail", url).stdout

        seen.type(b"\x03")
        assert seen.exit_code() == 0
    assert log == b"[True, True, True]\n\r\x1b[32m0%\x1b[0m\r\x1b[32m1%\x1b[0m\r\x1b[32m2%\x1b[0m\ngo? 77\n"
    assert b"2%\x1b[0m\r\ngo? " in seen.seen


def test_ctrl_c_reaches_the_command_once() -> None:
    # The new size reaches the command after streamres has dealt with the Ctrl-C that came before it.
    code = (
        "import os, signal\n"
        "caught = []\n"
        "signal.signal(signal.SIGINT, lambda *_: (caught.append(1), print('caught')))\n"
        "print('ready')\n"
        "while os.get_terminal_size(1).columns != 66: pass\n"
        "print('in all', len(caught)); raise SystemExit(4)"
    )
    with terminal("run", "--port", "0", "--", *python(code)) as seen:
        seen.wait_for(rb"ready")

        seen.type(b"\x03")
        seen.wait_for(rb"caught")
        seen.resize(columns=66)

        assert seen.exit_code() == 4
    assert b"in all 1\r\n" in seen.seen


def test_without_a_pseudo_terminal_the_command_sees_a_pipe() -> None:
    with terminal("run", "--port", "0", "--no-pty", "--", *python("import os; print(os.isatty(1))")) as seen:
        assert seen.exit_code() == 0

    assert b"False\r\n" in seen.seen


def test_with_one_where_there_is_none_the_command_sees_a_terminal() -> None:
    done = streamres("run", "--port", "0", "--pty", "--", *python("import os; print(os.isatty(1), os.isatty(2))"))

    assert done.stdout == b"True True\n"
