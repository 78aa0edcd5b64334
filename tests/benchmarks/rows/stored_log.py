"""A log in a file: what the server weighs then, and how soon and how fast a reader has it.

Wall time, on loopback, of a log that the operating system still has in its cache. What a store in a file owes: the
server weighs what it weighs, however long the log is.
"""

from __future__ import annotations

import json
import time
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks import http_answer, wire
from benchmarks.contestants import STORED
from benchmarks.load import WrongAnswer
from benchmarks.plan import KB, MB
from benchmarks.process import running
from benchmarks.row import Row
from benchmarks.rows.long_log import follow
from benchmarks.text import log_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.plan import Plan
    from benchmarks.process import ServerProcess

BAR_MB: Final = 200
BAR_TAIL_MS: Final = 100
BAR_MB_S: Final = 100

_URI: Final = "bench://stored"
_PIECE: Final = 64 * KB
_TAIL: Final = 16 * KB
_TAILS: Final = 20


def measure(plan: Plan) -> Iterator[Row]:
    """Gives the four rows."""
    size = plan.stored_bytes
    with running(STORED) as (server,):
        begin = time.perf_counter()
        server.tell("log", _URI, piece=_PIECE, count=size // _PIECE)
        written = size / MB / (time.perf_counter() - begin)
        tail_ms = median(_tail(server) for _ in range(_TAILS)) * 1000
        whole = median(_read_whole(server, size) for _ in range(plan.late_reads))
        followed = follow(server, _URI, size)
        peak = server.peak_bytes
    name = f"{size // MB} MB in a file"
    yield Row(name=f"{name}: memory", ours=f"{peak / MB:.0f} MB", bar=f"{BAR_MB} MB", met=peak <= BAR_MB * MB)
    yield Row(
        name=f"{name}: first byte of its end",
        ours=f"{tail_ms:.1f} ms",
        bar=f"{BAR_TAIL_MS} ms",
        met=tail_ms <= BAR_TAIL_MS,
    )
    yield Row(name=f"{name}: written", ours=f"{written:.0f} MB/s")
    yield Row(
        name=f"{name}: read late",
        ours=f"{whole:.0f} MB/s ({followed:.0f} by follow)",
        bar=f"{BAR_MB_S} MB/s",
        met=whole >= BAR_MB_S,
    )


def _tail(server: ServerProcess) -> float:
    """Gives the seconds to the first byte of a read of the log's end."""
    with http_answer.connect(server.port) as sock:
        begin = time.perf_counter()
        sock.sendall(wire.read(_URI, tailBytes=_TAIL))
        first = sock.recv(1)
        seconds = time.perf_counter() - begin
        text = http_answer.message(first + http_answer.receive(sock))["result"]["contents"][0]["text"]
    if not 0 < len(text) <= _TAIL or not log_text(_PIECE).endswith(text):
        raise WrongAnswer(text[:2_000])
    return seconds


def _read_whole(server: ServerProcess, size: int) -> float:
    """Gives the MB/s of one whole read, of which nothing is kept; that it is right, `follow` proves."""
    # Of ASCII text, JSON's escapes are the same in every piece.
    escaped = json.dumps(log_text(_PIECE))[1:-1].encode()
    with http_answer.connect(server.port) as sock:
        begin = time.perf_counter()
        sock.sendall(wire.read(_URI))
        received = 0
        end = b""
        while not end.endswith(b"\r\n0\r\n\r\n"):
            data = sock.recv(MB)
            if not data:
                raise WrongAnswer("the answer was cut")
            received += len(data)
            end = (end + data)[-8:]
        seconds = time.perf_counter() - begin
    if received < size // _PIECE * len(escaped):
        raise WrongAnswer(f"{received} bytes of {size}")
    return size / MB / seconds
