"""What led to the revisions of a resource in the file (SR-8.4.a)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamres.model import Causes, Run
from streamres.store.sqlite.pieces import Pieces

if TYPE_CHECKING:
    from collections.abc import Sequence


class StoredCauses(Causes):
    """The causes of one epoch in the file; what is added is collected until the writer puts it there."""

    __slots__ = ("floor", "pending", "pieces")

    def __init__(self, pieces: Pieces) -> None:
        super().__init__()
        self.pieces = pieces
        """Whose content it is."""
        self.pending: dict[int, Run] = {}
        """The runs that are not in the file yet as they are, by where they begin."""
        self.floor = 0
        """What is below it can go; 0 where nothing new can."""

    def add(self, revision: int, cause: str) -> None:
        """Says what led to the newest revision."""
        if not self._runs:
            self._runs += self._found("ORDER BY first DESC LIMIT 1")
        super().add(revision, cause)
        del self._runs[:-1]  # the newest alone can become longer
        self.pending[self._runs[0].first] = self._runs[0]

    def between(self, first: int, last: int) -> Sequence[Run]:
        """Gives the runs that are in the file and have a revision from `first` to `last`, oldest first."""
        return self._found(
            "AND last >= ? AND first <= ? AND first >= coalesce((SELECT max(first) FROM cause"
            " WHERE content = ? AND first <= ?), 0) ORDER BY first",
            first,
            last,
            self.pieces.content,
            first,
        )

    def begun(self) -> StoredCauses:
        """Gives those of a new epoch, none yet."""
        return StoredCauses(Pieces(self.pieces.db, 0))

    def forget(self, floor: int) -> None:
        """Leaves it to the writer."""
        self.floor = floor

    def _found(self, condition: str, *values: int) -> list[Run]:
        query = f"SELECT first, last, cause FROM cause WHERE content = ? {condition}"
        return [Run(*row) for row in self.pieces.db.execute(query, (self.pieces.content, *values))]
