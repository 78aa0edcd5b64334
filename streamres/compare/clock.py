"""The time of a work, in two ways: as it comes, so many times as fast; or from one event to the next.

In steps, nothing happens at a time that depends on how fast the machine is: each change, and each sleep of a
reader that ends, comes when what the one before led to is over. What lies between is left out; what each takes
is real.
"""

from __future__ import annotations

import time
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

import anyio


class Clock(Protocol):
    """Tells the seconds of the work."""

    def at(self, monotonic_s: float) -> float:
        """Gives the second of the work at a reading of `time.monotonic`, which every process shares."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        ...


class PacedClock:
    """Time as it comes, `speed` times as fast."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._begin = time.monotonic()

    def at(self, monotonic_s: float) -> float:
        """Gives the second of the work."""
        return (monotonic_s - self._begin) * self._speed

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await anyio.sleep(seconds / self._speed)


class StepClock:
    """Time from event to event, as whoever runs the work says."""

    def __init__(self) -> None:
        self._now = 0.0
        self._begin = time.monotonic()
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._order = count()

    def at(self, monotonic_s: float) -> float:
        """Gives the second of the work: that of the event, and what was real since it."""
        return self._now + monotonic_s - self._begin

    async def sleep(self, seconds: float) -> None:
        """Waits until time has moved on."""
        woken = anyio.Event()
        heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        await woken.wait()

    @property
    def next_due(self) -> float | None:
        """When the next sleep ends."""
        return self._sleepers[0][0] if self._sleepers else None

    def move(self, to: float) -> None:
        """Moves on to an event; sleeps that end by then, end."""
        self._now = max(self._now, to)
        self._begin = time.monotonic()
        while self._sleepers and self._sleepers[0][0] <= self._now:
            heappop(self._sleepers)[2].set()
