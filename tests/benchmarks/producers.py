"""Sixteen producers as a process: each sends an append once the one before was answered, as fast as that goes.

    python -m benchmarks.producers streamres|durable-streams|jetstream PORT one|each SECONDS

They append to one log, or each to one of its own.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import TYPE_CHECKING, Final

import uvloop

from benchmarks.targets import TARGETS

if TYPE_CHECKING:
    from benchmarks.targets import Append, Target

PRODUCERS: Final = 16


async def main(target: Target, shape: str, seconds: float) -> None:
    logs = logs_of(shape)
    for log in sorted(set(logs)):
        await target.create(log)
    appends = [await target.producer(log, f"p{number}") for number, log in enumerate(logs)]
    begin = time.perf_counter()
    counts = await asyncio.gather(*(produce(append, begin + seconds) for append in appends))
    took = time.perf_counter() - begin
    held = sum([await target.length(log) for log in set(logs)])
    print(json.dumps({"appends": sum(counts), "seconds": took, "bytes": held}))


def logs_of(shape: str) -> list[str]:
    """Gives the log of each producer."""
    return ["log" if shape == "one" else f"log-{number}" for number in range(PRODUCERS)]


async def produce(append: Append, until: float) -> int:
    """Appends until a time, and gives how often."""
    seq = 0
    while time.perf_counter() < until:
        await append(seq)
        seq += 1
    return seq


if __name__ == "__main__":
    _, name, port, shape, seconds = sys.argv
    uvloop.run(main(TARGETS[name](int(port)), shape, float(seconds)))
