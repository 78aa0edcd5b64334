"""Records what a command writes to its terminal, as asciicast v2."""

from __future__ import annotations

import codecs
import os
import pty
import select
import time
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_READ_BYTES: Final = 65_536
_TOGETHER_S: Final = 0.1
"""What comes within so short a time is one event:
what ships the log of a build sends it on no more often."""

_COLUMNS, _LINES = 100, 30


def record(command: Sequence[str], path: Path) -> int:
    """Runs a command in a terminal of its own, writes the recording to `path`, and gives its exit code.

    Raises:
        OSError: the file cannot be written.
    """
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(_COLUMNS), "LINES": str(_LINES)}
    child, terminal = pty.fork()
    if child == 0:
        try:
            os.execvpe(command[0], list(command), environment)
        finally:
            os._exit(127)
    begin = time.monotonic()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    events: list[list[object]] = []
    last = -1.0
    while data := _next(terminal, last + _TOGETHER_S - (time.monotonic() - begin)):
        last = time.monotonic() - begin
        if text := decoder.decode(data):
            events.append([round(last, 3), "o", text])
    if rest := decoder.decode(b"", final=True):
        events.append([round(last, 3), "o", rest])
    _, status = os.waitpid(child, 0)
    head = {"version": 2, "width": _COLUMNS, "height": _LINES, "duration": round(time.monotonic() - begin, 3)}
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in (head, *events)))
    return os.waitstatus_to_exitcode(status)


def _next(terminal: int, pause_s: float) -> bytes:
    """Gives what the terminal has after a pause, all of it; nothing at the end."""
    select.select([terminal], [], [])
    if pause_s > 0:
        time.sleep(pause_s)
    data = b""
    while not data or select.select([terminal], [], [], 0)[0]:
        try:
            more = os.read(terminal, _READ_BYTES)
        except OSError:  # a terminal whose last program is gone
            more = b""
        if not more:
            break
        data += more
    return data
