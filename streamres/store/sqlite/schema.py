"""The file: its tables, their version, and how it is opened.

A resource's content is a run of pieces, each some 64 KiB but for the newest, with the ends of the revisions in it.
A replacement has pieces of its own, so that whoever still reads the old ones can.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

from streamres.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APPLICATION_ID: Final = 0x73747273
"""`strs`: by it a file is known as ours."""

BUSY_S: Final = 5.0
"""How long a write waits for another program that is writing."""

_AGAIN_S: Final = 0.005
"""Seconds after which what SQLite does not wait for is tried again."""

MIGRATIONS: Final = (
    """
    CREATE TABLE resource (
      id INTEGER PRIMARY KEY,
      uri TEXT NOT NULL UNIQUE,
      description TEXT NOT NULL,
      content INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      revision INTEGER NOT NULL,
      length INTEGER NOT NULL,
      state TEXT NOT NULL,
      digest TEXT,
      floor INTEGER NOT NULL,
      floor_length INTEGER NOT NULL,
      change INTEGER NOT NULL,
      changed_at REAL NOT NULL
    ) STRICT;
    CREATE INDEX resource_change ON resource (change);
    CREATE TABLE piece (
      content INTEGER NOT NULL,
      begin INTEGER NOT NULL,
      revision INTEGER NOT NULL,
      ends BLOB NOT NULL,
      data BLOB NOT NULL,
      PRIMARY KEY (content, begin)
    ) STRICT;
    CREATE INDEX piece_revision ON piece (content, revision);
    CREATE TABLE document (
      content INTEGER PRIMARY KEY,
      length INTEGER NOT NULL,
      data BLOB NOT NULL
    ) STRICT;
    CREATE TABLE producer (
      resource INTEGER NOT NULL,
      producer TEXT NOT NULL,
      epoch INTEGER NOT NULL,
      next_seq INTEGER NOT NULL,
      PRIMARY KEY (resource, producer)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE acknowledged (
      resource INTEGER NOT NULL,
      producer TEXT NOT NULL,
      seq INTEGER NOT NULL,
      append BLOB NOT NULL,
      epoch INTEGER NOT NULL,
      revision INTEGER NOT NULL,
      length INTEGER NOT NULL,
      state TEXT NOT NULL,
      digest TEXT,
      PRIMARY KEY (resource, producer, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE discarded (content INTEGER PRIMARY KEY, at REAL NOT NULL) STRICT;
    CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO counter VALUES ('content', 0), ('change', 0), ('list', 0);
    """,
    """
    CREATE TABLE cause (
      content INTEGER NOT NULL,
      first INTEGER NOT NULL,
      last INTEGER NOT NULL,
      cause TEXT NOT NULL,
      PRIMARY KEY (content, first)
    ) STRICT, WITHOUT ROWID;
    """,
)
"""What brings a file from each version to the next; the number of them is the newest version."""


def open_file(path: Path, *, writes: bool) -> sqlite3.Connection:
    """Opens the file, made or brought to the newest version where it `writes`.

    Raises:
        StoreError: it cannot be opened, is no store, or is one of a newer streamres.
    """
    with explained(path):
        if path.is_dir():
            raise StoreError(f"{path} is a folder; name a file in it")
        if writes:
            path.parent.mkdir(parents=True, exist_ok=True)
            _demand_writable(path)
        db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            with as_it_is(db):  # another program may be making it at this moment
                version = _version(db, path)  # before anything is written: what is of somebody else stays as it is
            if not writes:
                db.execute("PRAGMA query_only = ON")
                return db
            # Space that is free goes back to the disk in steps (`shrink`); it can be said of a new file only.
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
            _write_ahead(db)
            db.execute("PRAGMA synchronous = FULL")
            if version < len(MIGRATIONS):
                _migrate(db, path)
        except BaseException:
            db.close()
            raise
    return db


def _demand_writable(path: Path) -> None:
    """Refuses a file that may not be written before SQLite makes others beside it that may not be either."""
    if path.exists() and not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise StoreError(f"{path} may not be written; look at the permissions of the file and its folder")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Says what an error of the file means to a person.

    Raises:
        StoreError: in place of an error of SQLite or of the operating system.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as exc:
        raise StoreError(f"{path}: {exc}{_advice(exc)}") from exc


def _advice(exc: Exception) -> str:
    match getattr(exc, "sqlite_errorname", "").partition("_")[2].split("_")[0]:
        case "FULL":
            return "; free some space, nothing of this write was kept"
        case "IOERR":
            return "; look at the disk, its quota and its limits, nothing of this write was kept"
        case "BUSY" | "LOCKED":
            return "; another program holds it, end that or give it a file of its own"
        case "CORRUPT" | "NOTADB":
            return "; it is damaged, keep a copy and see what `streamres doctor` can still read"
        case "READONLY" | "CANTOPEN" | "PERM":
            return "; look at the permissions of the file and its folder"
        case _:
            return ""


def _version(db: sqlite3.Connection, path: Path) -> int:
    """Gives the version of the file; 0 of a new one.

    Raises:
        StoreError: it is something else, or of a newer streamres.
    """
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    application = db.execute("PRAGMA application_id").fetchone()[0]
    fresh = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0
    if not fresh and application != APPLICATION_ID:
        raise StoreError(f"{path} is a database of something else; choose another path")
    if version > len(MIGRATIONS):
        raise StoreError(f"{path} is of a newer streamres (version {version}); upgrade this one")
    return version


def demand_version(db: sqlite3.Connection) -> None:
    """Refuses to write to a file that a newer program has brought to its version meanwhile.

    Raises:
        StoreError: it has.
    """
    if (version := db.execute("PRAGMA user_version").fetchone()[0]) > len(MIGRATIONS):
        raise StoreError(f"a newer streamres has taken over the file (version {version}); restart with that one")


def _write_ahead(db: sqlite3.Connection) -> None:
    """Sets the journal; for another program that sets it in the same moment SQLite does not wait by itself."""
    until = monotonic() + BUSY_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() >= until:
                raise
            sleep(_AGAIN_S)
        else:
            return


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        for step in MIGRATIONS[_version(db, path) :]:
            for statement in step.split(";\n"):
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def as_it_is(db: sqlite3.Connection) -> Iterator[None]:
    """Sees one state of the file in all that is asked."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("COMMIT")
