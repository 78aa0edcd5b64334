"""The store in one file: kept when acknowledged, through a crash and a power cut.

One thread writes; reads go by a connection of their own, so neither waits for the other (S4). A read takes some
tens of microseconds from the operating system's cache, less than to hand it to a thread and back.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Final, TypeVar

import anyio

from streamres.errors import LimitExceeded, StoreError
from streamres.limits import Limits
from streamres.model import JsonContent, Producers, ProducerStanding, ResourceLog
from streamres.store.sqlite.books import DISCARDED_S
from streamres.store.sqlite.causes import StoredCauses
from streamres.store.sqlite.collect import collect
from streamres.store.sqlite.documents import Documents
from streamres.store.sqlite.lookout import Lookout
from streamres.store.sqlite.pieces import Pieces, StoredOperations, StoredRevisions, stored_content
from streamres.store.sqlite.rows import COLUMNS, find, row_of
from streamres.store.sqlite.schema import as_it_is, explained, open_file
from streamres.store.sqlite.writer import Writer
from streamres.store.watches import Watches

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from contextlib import AbstractContextManager

    from streamres.model import AppendNumber, Description, Entry, Head, Position, Reading, Seal
    from streamres.store.base import Watch
    from streamres.store.sqlite.books import Books
    from streamres.store.sqlite.rows import Row

ResultT = TypeVar("ResultT")

POLL_S: Final = 0.1
"""Seconds between looks whether another program has written to the file."""

SWEEP_S: Final = 30.0
"""Seconds between looks whether replaced content can go."""


class SqliteStore:
    """Keeps every resource in one file; made by `open`."""

    def __init__(self, path: Path, limits: Limits, clock: Callable[[], float]) -> None:
        self.path = path = path.expanduser().absolute()
        self._limits = limits
        self._watches = Watches()
        self._writer = Writer(path, limits, clock, lambda news: self._lookout.told(news))
        self._clock = clock
        self._documents = Documents()
        try:
            self._db = open_file(path, writes=False)
            with explained(path):
                self._lookout = Lookout(self._db, path, self._watches)
        except BaseException:
            self._writer.abandon()
            raise
        self._writer.start()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, path: Path | str, limits: Limits | None = None, *, clock: Callable[[], float] = time
    ) -> AsyncIterator[SqliteStore]:
        """Gives the store in the file at `path`, made if need be, while the context lasts.

        Raises:
            StoreError: it cannot be opened, is something else, or of a newer version.
        """
        store = cls(Path(path), limits or Limits(), clock)
        looking = asyncio.create_task(store._look())
        try:
            yield store
        finally:
            with anyio.CancelScope(shield=True):
                looking.cancel()
                await asyncio.wait([looking])
                await store._writer.close()
                store._db.close()

    async def create(self, description: Description, content: bytes = b"") -> Head:
        self._check_size(content)
        return await self._write(lambda books: books.create(description, content), len(content))

    async def append(
        self,
        uri: str,
        data: bytes,
        *,
        seal: Seal | None = None,
        number: AppendNumber | None = None,
        expected_revision: int | None = None,
        expected_digest: str | None = None,
        create: Description | None = None,
        cause: str | None = None,
    ) -> Head:
        self._check_size(data)
        return await self._write(
            lambda books: books.append(uri, data, seal, number, expected_revision, expected_digest, create, cause),
            len(data),
        )

    async def replace(self, uri: str, data: bytes) -> Head:
        self._check_size(data)
        return await self._write(lambda books: books.replace(uri, data), len(data))

    async def compact(self, uri: str, floor: int) -> None:
        await self._write(lambda books: books.compact(uri, floor), 0)

    async def remove(self, uri: str) -> None:
        await self._write(lambda books: books.remove(uri), 0)

    async def collect(self, *, keep_s: float | None = None, keep_bytes: int | None = None) -> list[str]:
        """Removes sealed resources, and gives their URIs: those that changed last more than `keep_s` seconds ago.

        Then the oldest, until all that is kept takes `keep_bytes` at most, or none is left that is sealed. Whoever
        asks for one afterwards hears that there is none; the space is given back to the disk.
        """
        return [uri async for uri in collect(self.path, self._writer, self._clock(), keep_s, keep_bytes)]

    async def entry(self, uri: str) -> Entry:
        with explained(self.path):
            return find(self._db, uri).entry

    async def producer(self, uri: str, producer: str) -> ProducerStanding | None:
        with explained(self.path):
            found = self._db.execute(
                "SELECT epoch, next_seq FROM producer WHERE resource = ? AND producer = ?",
                (find(self._db, uri).id, producer),
            ).fetchone()
        return None if found is None else ProducerStanding(*found)

    async def read(
        self,
        uri: str,
        since: Position | None = None,
        *,
        max_bytes: int | None = None,
        tail_bytes: int | None = None,
        append_op: bool = True,
    ) -> Reading:
        with explained(self.path), as_it_is(self._db):
            log = self._log(find(self._db, uri))
            return log.read(since, max_bytes=max_bytes, tail_bytes=tail_bytes, append_op=append_op)

    async def list(self, *, after: str | None = None, limit: int) -> list[Entry]:
        with explained(self.path):
            rows = self._db.execute(
                f"SELECT {COLUMNS} FROM resource"
                " WHERE id > CASE WHEN ?1 IS NULL THEN 0 ELSE (SELECT id FROM resource WHERE uri = ?1) END"
                " AND json_extract(description, '$.listed') IS NOT 0"
                " ORDER BY id LIMIT ?2",
                (after, limit),
            ).fetchall()
        return [row_of(values).entry for values in rows]

    def watch(self, uris: Iterable[str], *, list_changed: bool = False) -> AbstractContextManager[Watch]:
        return self._watches.watch(uris, list_changed=list_changed)

    def _log(self, row: Row) -> ResourceLog:
        pieces = Pieces(self._db, row.content)
        position = row.head.position
        stored = stored_content(pieces, row.description.kind, position.length)
        content = (
            stored
            if row.description.kind != "json"
            else JsonContent(self._limits, self._documents.at(row, stored), StoredOperations(stored))
        )
        return ResourceLog.restored(
            row.description.uri,
            content=content,
            revisions=StoredRevisions(
                pieces, floor=row.floor, floor_length=row.floor_length, head=position.revision
            ),
            head=row.head,
            producers=Producers(max_producers=0),
            causes=StoredCauses(pieces),
            limits=self._limits,
        )

    async def _write(self, act: Callable[[Books], ResultT], size: int) -> ResultT:
        return await self._writer.write(act, size)

    def _check_size(self, data: bytes) -> None:
        if len(data) > self._limits.append_bytes:
            raise LimitExceeded("append_bytes", self._limits.append_bytes, "make several appends of it")

    async def _look(self) -> None:
        """Finds what other programs wrote, for as long as the store is open, whatever goes wrong meanwhile."""
        since_swept = 0.0
        while True:
            await asyncio.sleep(POLL_S)
            since_swept += POLL_S
            with suppress(StoreError):
                if since_swept >= SWEEP_S:
                    since_swept = 0.0
                    await self._sweep()
                self._lookout.find_news()

    async def _sweep(self) -> None:
        """Removes content that was replaced a while ago, if there is any."""
        with explained(self.path):
            oldest = self._db.execute("SELECT min(at) FROM discarded").fetchone()[0]
        if oldest is not None and oldest < self._clock() - DISCARDED_S:
            await self._write(lambda books: books.sweep(), 0)
