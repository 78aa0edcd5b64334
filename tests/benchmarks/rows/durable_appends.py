"""Appends of 100 bytes by sixteen producers, each on the disk before it is answered.

Wall time, in turns, every turn with new files in the folder for temporary files: where that is in memory, these
rows say nothing. In process it is the stores alone; over the network the same producers append to each server in
its own words. JetStream is there for the scale.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks.contestants import STORED, durable_streams, jetstream
from benchmarks.load import WrongAnswer
from benchmarks.process import child_environment, running
from benchmarks.row import Row
from benchmarks.targets import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.plan import Plan

BAR: Final = 10
"""Times as many as Durable Streams, into one log and in process."""

_SHAPES: Final = {"one": "one log", "each": "a log each"}


def measure(plan: Plan) -> Iterator[Row]:
    """Gives a row for each shape and layer."""
    seconds = str(plan.append_s)
    for shape, name in _SHAPES.items():
        for kind in ("plain", "numbered"):
            stores = [partial(store, shape, kind, seconds) for store in (_in_sqlite, _in_durable_streams)]
            yield _row(f"{name}, in process, {kind}", stores, plan.append_rounds, barred=shape == "one")
    for shape, name in _SHAPES.items():
        servers = [partial(to, shape, seconds) for to in (_to_streamres, _to_durable_streams, _to_jetstream)]
        yield _row(f"{name}, by network, numbered", servers, plan.append_rounds)


def _row(name: str, contestants: Sequence[Callable[[], float]], rounds: int, *, barred: bool = False) -> Row:
    """Measures in turns; of a ratio the median of the rounds, for what slows a round slows all of it."""
    turns = [[contestant() for contestant in contestants] for _ in range(rounds)]
    times = median(turn[0] / turn[1] for turn in turns)
    ours, *others = (f"{median(rates):,.0f}/s" for rates in zip(*turns, strict=True))
    return Row(
        name=name,
        ours=f"{ours} ({times:.1f} times)",
        durable_streams=others[0],
        jetstream=others[1] if len(others) > 1 else "",
        bar=f"{BAR} times" if barred else "",
        met=times >= BAR if barred else None,
    )


def _in_sqlite(*how: str) -> float:
    with TemporaryDirectory(prefix="streamres-") as folder:
        return _rate([sys.executable, "-m", "benchmarks.contestants.sqlite_appends", folder, *how])


def _in_durable_streams(*how: str) -> float:
    with TemporaryDirectory(prefix="durable-streams-") as folder:
        return _rate(durable_streams.program("append", folder, *how))


def _to_streamres(*how: str) -> float:
    with running(STORED) as (server,):
        return _rate(_producers("streamres", server.port, *how))


def _to_durable_streams(*how: str) -> float:
    with durable_streams.serving() as port:
        return _rate(_producers("durable-streams", port, *how))


def _to_jetstream(*how: str) -> float:
    with jetstream.serving() as port:
        return _rate(_producers("jetstream", port, *how))


def _producers(target: str, port: int, *how: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.producers", target, str(port), *how]


def _rate(command: list[str]) -> float:
    """Gives the appends a second that a program has made; the last line that it prints says how many."""
    done = subprocess.run(command, env=child_environment(), check=True, stdout=subprocess.PIPE, timeout=120)
    said = json.loads(done.stdout.splitlines()[-1])
    if said["bytes"] != said["appends"] * len(DATA):
        raise WrongAnswer(f"of what was acknowledged there is not all, or more: {said}")
    return float(said["appends"] / said["seconds"])
