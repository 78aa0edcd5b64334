"""The numbers of appends, kept with what they led to (SR-9.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamres.model import Producers
from streamres.store.sqlite.rows import head_of

if TYPE_CHECKING:
    import sqlite3

    from streamres.limits import Limits
    from streamres.model import Head


def recorded(db: sqlite3.Connection, resource: int, limits: Limits) -> Producers[Head]:
    """Gives the producers of a resource as they were kept."""
    producers: Producers[Head] = Producers(max_producers=limits.producers)
    rows = db.execute("SELECT producer, epoch, next_seq FROM producer WHERE resource = ?", (resource,)).fetchall()
    for producer, epoch, next_seq in rows:
        recent = db.execute(
            "SELECT append, epoch, revision, length, state, digest FROM acknowledged"
            " WHERE resource = ? AND producer = ? ORDER BY seq",
            (resource, producer),
        )
        producers.restore(producer, epoch, next_seq, [(row[0], head_of(row[1:])) for row in recent])
    return producers
