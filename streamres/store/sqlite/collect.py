"""Which resources go when a file is to keep less: those that were sealed longest ago, and no other.

Free space goes back to the disk by SQLite's incremental vacuum: in steps between which others write, and without
the second copy of the file that VACUUM needs, which is just what a disk that is nearly full has no room for.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from streamres.errors import ResourceNotFound
from streamres.store.sqlite.schema import explained, open_file

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import AsyncIterator
    from pathlib import Path

    from streamres.store.sqlite.writer import Writer

_STEP_PAGES: Final = 2_000
"""Pages given back in one transaction: some 8 MB, or a tenth of a second."""


async def collect(
    path: Path, writer: Writer, now: float, keep_s: float | None, keep_bytes: int | None
) -> AsyncIterator[str]:
    """Removes what is not to be kept, and gives the URI of each; see `SqliteStore.collect`."""
    db = open_file(path, writes=False)
    try:
        with explained(path):
            sealed = db.execute(
                "SELECT uri, changed_at FROM resource WHERE state != 'open' ORDER BY changed_at, id"
            ).fetchall()
        for uri, changed_at in sealed:
            too_old = keep_s is not None and changed_at < now - keep_s
            if not (too_old or (keep_bytes is not None and _used_bytes(db) > keep_bytes)):
                break
            with suppress(ResourceNotFound):  # another program was faster
                await writer.write(lambda books, uri=uri: books.remove(uri), 0)  # type: ignore[misc]
                # Who is in the middle of reading it is cut off: the space is wanted now.
                await writer.write(lambda books: books.sweep(0.0), 0)
                yield uri
        while _free_pages(db):
            before = _free_pages(db)
            await writer.write(lambda books: books.shrink(_STEP_PAGES), 0)
            if _free_pages(db) >= before:
                break
    finally:
        db.close()
    await asyncio.to_thread(_write_back, path)


def _write_back(path: Path) -> None:
    """Puts what SQLite has logged into the file, which is shorter only then; one that is in use, later."""
    db = open_file(path, writes=True)
    try:
        with explained(path):
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        db.close()


def _used_bytes(db: sqlite3.Connection) -> int:
    pages, page_bytes = (int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "page_size"))
    return (pages - _free_pages(db)) * page_bytes


def _free_pages(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA freelist_count").fetchone()[0])
