"""One row of the table, and how the rows of ratios are measured: in turns."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import sqrt
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.process import ServerProcess

BAR_RATIO: Final = 5.0
"""The bar of the reading and the fan-out rows: a fifth of the official server's CPU time."""

_SETTLE_S: Final = 0.005
"""For the server to come to rest: of a process that runs, others read a clock that is a tick old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was measured, as it is printed: a cell a contestant, the bar, and whether it was met."""

    name: str
    ours: str
    json: str = ""
    default: str = ""
    durable_streams: str = ""
    jetstream: str = ""
    bar: str = ""
    met: bool | None = None


class Contender:
    """A server with work to do, and the CPU time that each unit of the work took."""

    def __init__(self, server: ServerProcess, work: Callable[[], int]) -> None:
        self._server = server
        self._work = work
        self.costs_us: list[float] = []

    def take_turn(self) -> None:
        """Does a turn's work and notes what a unit of it cost."""
        before = self._server.cpu_s
        units = self._work()
        time.sleep(_SETTLE_S)
        self.costs_us.append((self._server.cpu_s - before) / units * 1e6)

    @property
    def cost_us(self) -> float:
        """The median over all turns."""
        return median(self.costs_us)

    def times(self, other: Contender) -> tuple[float, float]:
        """Gives how many times `other` it costs, and the standard error of that as a part of it.

        The median over the rounds of the ratio within a round: what slows a round slows both.
        """
        ratios = [mine / theirs for mine, theirs in zip(self.costs_us, other.costs_us, strict=True)]
        ratio = median(ratios)
        low, _, high = quantiles(ratios, n=4, method="inclusive")
        # Of a normal distribution: 1.253 / 1.349 times the range of its middle half.
        return ratio, 0.93 * (high - low) / sqrt(len(ratios)) / ratio


def take_turns(contenders: list[Contender], rounds: int) -> None:
    """Lets each contender take its turn, `rounds` times, after one that warms it up."""
    for contender in contenders:
        contender.take_turn()
        contender.costs_us.clear()
    for _ in range(rounds):
        for contender in contenders:
            contender.take_turn()


def ratio_row(
    name: str, ours: Contender, *, json: Contender | None = None, default: Contender, barred: bool = False
) -> Row:
    """Gives the row of a measurement in turns; `barred` where the bar of a fifth applies."""
    return Row(
        name=name,
        ours=f"1 ({_time(ours.cost_us)})",
        json="" if json is None else _against(ours, json),
        default=_against(ours, default),
        bar=f"1/{BAR_RATIO:.0f} of default" if barred else "",
        met=default.times(ours)[0] >= BAR_RATIO if barred else None,
    )


def _against(ours: Contender, official: Contender) -> str:
    ratio, spread = official.times(ours)
    return f"{ratio:.2f} ±{spread:.0%} ({_time(official.cost_us)})"


def _time(cost_us: float) -> str:
    return f"{cost_us / 1000:.2f} ms" if cost_us >= 1000 else f"{cost_us:.1f} us"
