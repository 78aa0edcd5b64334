"""Numbered items in the order of their numbers, however they come (SR-11.2.a): gaps are waited for, then recorded.

Pure: how long in time a gap is waited for is the caller's; by itself it is given up when more than `window` items
wait behind it (SR-11.2.b).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

GAPS_KEPT: Final = 100
"""Gaps that are recorded one by one; of more, the number of what is missing still counts."""

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class Gap:
    """Numbers that never came in time: from `first` to `last`."""

    first: int
    last: int


class Order(Generic[ItemT]):
    """The items of one call, numbered from 0."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._held: dict[int, ItemT] = {}
        self.next = 0
        """The number that is waited for."""
        self.gaps: list[Gap] = []
        """What was given up, oldest first, up to `GAPS_KEPT`."""
        self.missing = 0
        """How many numbers were given up in all."""
        self.repeats = 0
        """Items that came again; nothing is done with them."""
        self.late = 0
        """Items that came after their gap was given up: what follows stands already, so they are left out."""

    @property
    def waits(self) -> bool:
        """Says whether there is an item that cannot be given since others are missing before it."""
        return bool(self._held)

    def take(self, number: int, item: ItemT) -> list[ItemT]:
        """Takes an item, and gives all that can be given now, in order."""
        if number in self._held:
            self.repeats += 1
        elif number < self.next:
            if any(gap.first <= number <= gap.last for gap in self.gaps):
                self.late += 1
            else:
                self.repeats += 1
        else:
            self._held[number] = item
        ready = self._run()
        while len(self._held) > self._window:
            ready += self.give_up()
        return ready

    def give_up(self) -> list[ItemT]:
        """Records the gap that is waited for, and gives what follows it up to the next."""
        if not self._held:
            return []
        first, self.next = self.next, min(self._held)
        self.missing += self.next - first
        if len(self.gaps) < GAPS_KEPT:
            self.gaps.append(Gap(first, self.next - 1))
        return self._run()

    def _run(self) -> list[ItemT]:
        run = []
        while self.next in self._held:
            run.append(self._held.pop(self.next))
            self.next += 1
        return run
