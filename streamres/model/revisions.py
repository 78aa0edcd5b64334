"""Where each revision of an epoch ends: what a read looks positions up in."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right


class Revisions:
    """The length of the content at each revision from the floor on; those below are forgotten."""

    __slots__ = ("_ends", "floor")

    def __init__(self, length: int) -> None:
        self.floor = 0
        """The oldest revision that is known."""
        self._ends = array("Q", [length])

    def append(self, length: int) -> None:
        """Adds the revision after the newest."""
        self._ends.append(length)

    def end(self, revision: int) -> int:
        """Gives the length at a revision from the floor on."""
        return self._ends[revision - self.floor]

    def reaching(self, length: int) -> int:
        """Gives the first revision at which the content is at least so long."""
        return self.floor + bisect_left(self._ends, length)

    def within(self, length: int) -> int:
        """Gives the last revision at which the content is at most so long."""
        return self.floor + bisect_right(self._ends, length) - 1

    def begun(self, length: int) -> Revisions:
        """Gives those of a new epoch whose first content is so long."""
        return Revisions(length)

    def forget(self, floor: int) -> None:
        """Forgets the revisions below `floor`."""
        self._ends = self._ends[floor - self.floor :]
        self.floor = floor
