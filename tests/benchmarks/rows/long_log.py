"""A log of 100 MB: what it weighs in the server, and how fast a reader that comes late has it.

Wall time, on loopback. Of streamres the log is a hundred thousand appends; the official server has one string. The
readers are `Client.follow`, which checks the seal's digest, and one whole `resources/read` over a raw socket.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks import http_answer, wire
from benchmarks.contestants import DEFAULT, JSON, OURS
from benchmarks.load import WrongAnswer
from benchmarks.plan import KB, MB
from benchmarks.process import child_environment, running
from benchmarks.row import Row
from benchmarks.text import log_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.plan import Plan
    from benchmarks.process import ServerProcess

BAR_WEIGHT: Final = 1.5
"""Memory for a byte of log: 150 MB for 100 MB."""

BAR_MB_S: Final = 150

_URI: Final = "bench://log"


def measure(plan: Plan) -> Iterator[Row]:
    """Gives the three rows."""
    with running(OURS, JSON, DEFAULT) as servers:
        ours = servers[0]
        idle = ours.resident_bytes
        for server in servers:
            piece = KB if server is ours else plan.log_bytes
            server.tell("log", _URI, piece=piece, count=plan.log_bytes // piece)
        grown = ours.resident_bytes - idle
        followed = median(follow(ours, _URI, plan.log_bytes) for _ in range(plan.late_reads))
        peak = ours.peak_bytes - idle
        turns = [[_read_whole(server, plan.log_bytes) for server in servers] for _ in range(plan.late_reads)]
    whole, json_mode, default = (median(speeds) for speeds in zip(*turns, strict=True))
    size = plan.log_bytes // MB
    yield Row(
        name=f"memory for {size} MB of log",
        ours=f"{grown / MB:.0f} MB ({peak / MB:.0f} while followed)",
        bar=f"{size * BAR_WEIGHT:.0f} MB",
        met=max(grown, peak) <= plan.log_bytes * BAR_WEIGHT,
    )
    bar = f"{BAR_MB_S} MB/s"
    yield Row(
        name=f"{size} MB late, Client.follow",
        ours=f"{followed:.0f} MB/s",
        bar=bar,
        met=followed >= BAR_MB_S,
    )
    yield Row(
        name=f"{size} MB late, one answer",
        ours=f"{whole:.0f} MB/s",
        json=f"{json_mode:.0f} MB/s",
        default=f"{default:.0f} MB/s",
        bar=bar,
        met=whole >= BAR_MB_S,
    )


def follow(server: ServerProcess, uri: str, size: int) -> float:
    """Gives the MB/s of a follower in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.follower", f"http://127.0.0.1:{server.port}", uri]
    done = subprocess.run(command, env=child_environment(), check=True, stdout=subprocess.PIPE, timeout=120)
    answer = json.loads(done.stdout)
    if answer["bytes"] != size:
        raise WrongAnswer(str(answer))
    return size / MB / float(answer["seconds"])


def _read_whole(server: ServerProcess, size: int) -> float:
    """Gives the MB/s of one whole read."""
    with http_answer.connect(server.port) as sock:
        begin = time.perf_counter()
        sock.sendall(wire.read(_URI))
        answer = http_answer.receive(sock)
        seconds = time.perf_counter() - begin
    piece = log_text(KB if server.contestant is OURS else size)
    if http_answer.message(answer)["result"]["contents"][0]["text"] != piece * (size // len(piece)):
        raise WrongAnswer(answer[:2_000].decode("latin-1"))
    return size / MB / seconds
