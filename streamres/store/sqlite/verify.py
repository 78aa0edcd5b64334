"""Reads a whole file and says what is wrong with it, a line a finding."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from streamres.errors import StoreError, StreamresError
from streamres.model import SEALS, WINDOW
from streamres.store.sqlite.rows import COLUMNS, row_of
from streamres.store.sqlite.schema import MIGRATIONS, explained, open_file
from streamres.store.sqlite.verify_content import Content

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.store.sqlite.rows import Row

_ORPHANS: Final = {
    "pieces": "SELECT count(*) FROM piece WHERE content NOT IN (SELECT content FROM resource)"
    " AND content NOT IN (SELECT content FROM discarded)",
    "documents": "SELECT count(*) FROM document WHERE content NOT IN (SELECT content FROM resource)"
    " AND content NOT IN (SELECT content FROM discarded)",
    "causes": "SELECT count(*) FROM cause WHERE content NOT IN (SELECT content FROM resource)"
    " AND content NOT IN (SELECT content FROM discarded)",
    "producers": "SELECT count(*) FROM producer WHERE resource NOT IN (SELECT id FROM resource)",
    "acknowledgements": "SELECT count(*) FROM acknowledged AS a WHERE NOT EXISTS"
    " (SELECT 1 FROM producer AS p WHERE p.resource = a.resource AND p.producer = a.producer)",
}
_COUNTERS: Final = {
    "content": "SELECT max(content) FROM (SELECT content FROM resource UNION ALL SELECT content FROM piece"
    " UNION ALL SELECT content FROM document UNION ALL SELECT content FROM discarded)",
    "change": "SELECT max(change) FROM resource",
    "list": "SELECT 0",
}


def verify(path: Path | str) -> Iterator[str]:
    """Gives what is wrong with the file at `path`, a line each; a server may go on writing to it meanwhile.

    Nothing is changed. A file that is too damaged to be looked into gives the one finding that says so.

    Raises:
        StoreError: there is no file, it is of something else, or of another version.
    """
    path = Path(path).expanduser().absolute()
    if not path.is_file():
        raise StoreError(f"there is no file {path}")
    db = open_file(path, writes=False)
    try:
        with explained(path):
            db.execute("BEGIN")  # one state of the file in all that is asked
            if db.execute("PRAGMA user_version").fetchone()[0] != len(MIGRATIONS):
                raise StoreError(f"{path} is of an older streamres, or empty; let a server open it once")
        try:
            yield from _damage(db)
            yield from _findings(db)
        except sqlite3.Error as exc:
            yield f"the file cannot be read to its end: {exc}"
    finally:
        db.close()


def _damage(db: sqlite3.Connection) -> Iterator[str]:
    for (line,) in db.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield f"SQLite: {line}"


def _findings(db: sqlite3.Connection) -> Iterator[str]:
    for name, query in _COUNTERS.items():
        counter = db.execute("SELECT value FROM counter WHERE name = ?", (name,)).fetchone()
        newest = db.execute(query).fetchone()[0] or 0
        if counter is None:
            yield f"the counter {name!r} is missing"
        elif counter[0] < newest:
            yield f"the counter {name!r} stands at {counter[0]}, and {newest} is in use"
    for name, query in _ORPHANS.items():
        if count := db.execute(query).fetchone()[0]:
            yield f"{count} {name} belong to nothing"
    for uri, count in db.execute(
        "SELECT min(uri), count(*) FROM (SELECT uri, content FROM resource UNION ALL"
        " SELECT 'a replaced content', content FROM discarded) GROUP BY content HAVING count(*) > 1"
    ):
        yield f"{uri}: {count} have the same content"
    for uri, *values in db.execute(f"SELECT uri, {COLUMNS} FROM resource ORDER BY id"):
        try:
            row = row_of(values)
        except (StreamresError, ValueError, TypeError, LookupError) as exc:
            yield f"{uri}: the description cannot be read: {exc!r}"
            continue
        for finding in _resource(db, uri, row):
            yield f"{uri}: {finding}"


def _resource(db: sqlite3.Connection, uri: str, row: Row) -> Iterator[str]:
    head = row.head
    if row.description.uri != uri:
        yield f"the description is that of {row.description.uri}"
    if head.state not in ("open", *SEALS):
        yield f"the state is {head.state!r}"
    if head.state == "open" and head.digest is not None:
        yield "open, and has a digest"
    content = Content(db, row)
    yield from content.findings()
    for producer, next_seq in db.execute(
        "SELECT producer, next_seq FROM producer WHERE resource = ?", (row.id,)
    ).fetchall():
        for finding in _track(db, row, content, producer, next_seq):
            yield f"producer {producer!r}: {finding}"
    yield from _causes(db, row)


def _causes(db: sqlite3.Connection, row: Row) -> Iterator[str]:
    """What is wrong with what led to the revisions: runs that are in order, and of revisions that are kept."""
    before = 0
    for first, last, cause in db.execute(
        "SELECT first, last, cause FROM cause WHERE content = ? ORDER BY first", (row.content,)
    ):
        if not before < first <= last <= row.head.position.revision or last < row.floor:
            yield f"{cause!r} is said to have led to revisions {first} to {last}, which cannot be"
        before = last


def _track(db: sqlite3.Connection, row: Row, content: Content, producer: str, next_seq: int) -> Iterator[str]:
    """What is wrong with the last numbers of one producer, and what they were acknowledged with."""
    acknowledged = db.execute(
        "SELECT seq, epoch, revision, length, state, digest FROM acknowledged"
        " WHERE resource = ? AND producer = ? ORDER BY seq",
        (row.id, producer),
    ).fetchall()
    kept = [row[0] for row in acknowledged]
    if kept[-WINDOW:] != list(range(max(0, next_seq - WINDOW), next_seq)):
        yield f"the next number is {next_seq}, and those before it are not all kept"
    before = (0, 0)
    head = row.head
    for seq, epoch, revision, length, state, digest in acknowledged:
        if epoch != head.position.epoch:
            continue
        known = content.length_at(revision)
        if revision > head.position.revision or (known is not None and known != length):
            yield f"number {seq} was acknowledged with revision {revision} and {length} bytes, which never was"
        if state != "open" and (revision, state, digest) != (head.position.revision, head.state, head.digest):
            yield f"number {seq} was acknowledged with a seal that is not the resource's"
        if (revision, length) < before:
            yield f"number {seq} was acknowledged with an older revision than the one before it"
        before = (revision, length)
