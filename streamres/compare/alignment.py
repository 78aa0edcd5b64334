"""Which changes are in a text or in bytes that are not as they should be: left out, doubled, out of order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamres.carriers.content import Value


class Alignment:
    """Follows what a reader adds to its copy, as changes that the producer had made by then.

    Changes of equal content cannot be told apart: the one that fits best is taken for it.
    """

    def __init__(self, changes: Sequence[Value]) -> None:
        self._changes = changes
        self.times: Counter[int] = Counter()
        """How often each change is in the copy, counted from 0."""
        self.disordered = False
        """One came after one that follows it."""
        self.foreign = False
        """There is something in it that no change brought."""
        self._rest: Value = None

    @property
    def doubled(self) -> bool:
        """Says whether one is in it twice."""
        return any(times > 1 for times in self.times.values())

    @property
    def holes(self) -> bool:
        """Says whether one is missing before one that is there."""
        return any(index not in self.times for index in range(max(self.times, default=0)))

    def stand(self, count: int) -> None:
        """The copy is as it was after `count` changes."""
        self.times = Counter(range(count))
        self.disordered = self.foreign = False
        self._rest = None

    def add(self, added: Value, committed: int) -> None:
        """The copy got longer, when `committed` changes had been made."""
        if self._rest:
            head, added = added[: len(self._rest)], added[len(self._rest) :]
            self.foreign = self.foreign or not self._rest.startswith(head)
            self._rest = self._rest[len(head) :]
        while added and not self.foreign:
            for index in self._likely(committed):
                change = self._changes[index]
                if change and (added.startswith(change) or change.startswith(added)):
                    self.disordered = self.disordered or (
                        not self.times[index] and any(other > index for other in self.times)
                    )
                    self.times[index] += 1
                    self._rest = change[len(added) :]
                    added = added[len(change) :]
                    break
            else:
                self.foreign = True

    def _likely(self, committed: int) -> Iterator[int]:
        """Changes in the order of how well they fit: the next, what is missing, later ones, the last again."""
        newest = max(self.times, default=-1)
        yield from range(newest + 1, min(newest + 2, committed))
        yield from (index for index in range(newest) if index not in self.times)
        yield from range(newest + 2, committed)
        yield from reversed(range(newest + 1))
