"""The rows of a batch until they go into the file, each table's at once: a row alone costs twice as much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamres.model import WINDOW

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from streamres.model import AppendNumber, Head, Producers, Run


class Batch:
    """What the writer adds to the file in its transaction; whoever looks into the file puts it there first."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._pieces: list[tuple[int, int, int, bytes, bytes]] = []
        self._resources: list[tuple[Any, ...]] = []
        self._standing: dict[tuple[int, str], tuple[int, int]] = {}
        self._acknowledged: list[tuple[Any, ...]] = []
        self._causes: list[tuple[int, int, int, str]] = []
        self._cause_floors: list[tuple[int, int]] = []

    def piece(self, content: int, begin: int, revision: int, ends: bytes, data: bytes) -> None:
        """Adds a piece."""
        self._pieces.append((content, begin, revision, ends, data))

    def resource(
        self,
        resource: int,
        content: int,
        head: Head,
        floor: tuple[int, int],
        change: int,
        now: float,
    ) -> None:
        """Says where a resource stands."""
        at = head.position
        standing = (content, at.epoch, at.revision, at.length, head.state, head.digest, *floor, change, now)
        self._resources.append((*standing, resource))

    def causes(self, content: int, runs: Iterable[Run]) -> None:
        """Adds what led to revisions; a run that is there already has become longer."""
        self._causes += [(content, *run) for run in runs]

    def forget_causes(self, content: int, floor: int) -> None:
        """Drops what led to revisions below `floor`."""
        self._cause_floors.append((content, floor))

    def number(self, resource: int, producers: Producers[Head], number: AppendNumber) -> None:
        """Keeps the number of an append that was made, and what it led to (SR-9.1)."""
        epoch, next_seq, recent = producers.track(number.producer)
        if number.seq + 1 != next_seq:
            return  # a repeat; that of the last is kept again, as it was
        append, head = recent[-1]
        key = (resource, number.producer)
        if number.seq % WINDOW == 0:
            # Those that are too old, in strides; at the first of an epoch, those of the one before.
            self.put()
            self._db.execute(
                "DELETE FROM acknowledged WHERE resource = ? AND producer = ? AND (seq <= ? OR seq >= ?)",
                (*key, number.seq - WINDOW, number.seq),
            )
        self._standing[key] = (epoch, next_seq)
        at = head.position
        position = (at.epoch, at.revision, at.length)
        self._acknowledged.append((*key, number.seq, append, *position, head.state, head.digest))

    def put(self) -> None:
        """Puts what there is into the file."""
        if self._pieces:
            self._db.executemany("INSERT INTO piece VALUES (?, ?, ?, ?, ?)", self._pieces)
        if self._resources:
            self._db.executemany(
                "UPDATE resource SET content = ?, epoch = ?, revision = ?, length = ?, state = ?, digest = ?,"
                " floor = ?, floor_length = ?, change = ?, changed_at = ? WHERE id = ?",
                self._resources,
            )
        if self._standing:
            self._db.executemany(
                "INSERT OR REPLACE INTO producer VALUES (?, ?, ?, ?)",
                [(*key, *standing) for key, standing in self._standing.items()],
            )
            self._db.executemany(
                "INSERT OR REPLACE INTO acknowledged VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self._acknowledged
            )
        if self._causes:
            self._db.executemany(
                "INSERT INTO cause VALUES (?, ?, ?, ?)"
                " ON CONFLICT (content, first) DO UPDATE SET last = excluded.last",
                self._causes,
            )
        if self._cause_floors:
            self._db.executemany("DELETE FROM cause WHERE content = ? AND last < ?", self._cause_floors)
        self.forget()

    def forget(self) -> None:
        """Gives it up."""
        self._pieces.clear()
        self._resources.clear()
        self._standing.clear()
        self._acknowledged.clear()
        self._causes.clear()
        self._cause_floors.clear()
