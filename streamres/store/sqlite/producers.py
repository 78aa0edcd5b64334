"""The numbers of appends, kept with what they led to (SR-9.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamres.model import WINDOW, Producers
from streamres.store.sqlite.rows import head_of

if TYPE_CHECKING:
    import sqlite3

    from streamres.limits import Limits
    from streamres.model import AppendNumber, Head


def record(db: sqlite3.Connection, resource: int, producers: Producers[Head], number: AppendNumber) -> None:
    """Keeps the number of an append that was made, in the transaction of the append."""
    epoch, next_seq, recent = producers.track(number.producer)
    if number.seq + 1 != next_seq:
        return  # a repeat
    append, head = recent[-1]
    key = (resource, number.producer)
    db.execute("INSERT OR REPLACE INTO producer VALUES (?, ?, ?, ?)", (*key, epoch, next_seq))
    db.execute(
        "DELETE FROM acknowledged WHERE resource = ? AND producer = ? AND (seq <= ? OR seq >= ?)",
        (*key, number.seq - WINDOW, number.seq),
    )
    at = head.position
    db.execute(
        "INSERT INTO acknowledged VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*key, number.seq, append, at.epoch, at.revision, at.length, head.state, head.digest),
    )


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
