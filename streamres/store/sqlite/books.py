"""The writer's books, and what can be done with them; everything here runs in the writer's thread."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from secrets import randbits
from typing import TYPE_CHECKING, Final

from streamres.errors import LimitExceeded, ResourceExists, ResourceNotFound
from streamres.model import EPOCH_BITS, Head, Position, ResourceLog
from streamres.store.sqlite.batch import Batch
from streamres.store.sqlite.book import Book
from streamres.store.sqlite.rows import description_json, find
from streamres.store.sqlite.schema import demand_version

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from streamres.limits import Limits
    from streamres.model import AppendNumber, Description, Seal

KEPT: Final = 256
"""Books at hand; others are read from the file when they are written to again."""

DISCARDED_S: Final = 60.0
"""Seconds for which replaced content stays for those who still read it."""


@dataclass(frozen=True, slots=True)
class News:
    """What a batch changed, and the number of each change; 0 is none. Those of a file count up, whoever writes."""

    heads: dict[str, Head] = field(default_factory=dict)
    change: int = 0
    list_change: int = 0


class Books:
    """The resources of one file as its writer sees them."""

    def __init__(self, db: sqlite3.Connection, limits: Limits, clock: Callable[[], float]) -> None:
        self._db = db
        self._limits = limits
        self._clock = clock
        self._books: OrderedDict[str, Book] = OrderedDict()
        self._touched: dict[str, Book] = {}
        self._batch = Batch(db)
        self._version = 0
        self._change = self._list_change = 0

    def begin(self) -> None:
        """Begins a batch; what another program wrote meanwhile is read anew."""
        self._change = self._list_change = 0
        self._db.execute("BEGIN IMMEDIATE")
        version = self._db.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            demand_version(self._db)  # another program may be a newer one
            self._books.clear()
            self._version = version

    def finish(self) -> News:
        """Puts the batch into the file; gives what is new by it. Once it returns, the batch is on the disk."""
        for book in self._touched.values():
            self._put(book)
        self._batch.put()
        self._db.execute("COMMIT")
        heads = {uri: book.log.head for uri, book in self._touched.items() if book.told is not book.log.head}
        for book in self._touched.values():
            book.told = book.log.head
        self._touched = {}
        while len(self._books) > KEPT:
            self._books.popitem(last=False)
        return News(heads, self._change, self._list_change)

    def forget(self) -> None:
        """Gives the batch up: nothing of it is in the file, and the books are read anew."""
        self._books.clear()
        self._touched = {}
        self._batch.forget()
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def create(self, description: Description, content: bytes) -> Head:
        """Makes a resource; see `Store.create`."""
        if self._there(description.uri):
            raise ResourceExists(description.uri)
        self._demand_room()
        return self._create(description, content).log.head

    def append(
        self,
        uri: str,
        data: bytes,
        seal: Seal | None,
        number: AppendNumber | None,
        expected: int | None,
        expected_digest: str | None,
        create: Description | None,
        cause: str | None,
    ) -> Head:
        """Appends, seals, or both; see `Store.append`."""
        if create is not None and not self._there(uri):
            self._demand_room()
            # The append is tried before anything is made: a refusal leaves no resource.
            trial = ResourceLog(uri, epoch=0, kind=create.kind, limits=self._limits)
            trial.commit(
                data,
                seal=seal,
                number=number,
                expected_revision=expected,
                expected_digest=expected_digest,
                cause=cause,
            )
            book = self._create(create, b"")
        else:
            book = self._book(uri)
        if create is not None:
            book.log.demand(create.kind)
        before = book.log.head
        head = book.commit(data, seal, number, expected, expected_digest, cause)
        if number is not None or book.log.head is not before:
            self._touched[uri] = book
        return head

    def replace(self, uri: str, data: bytes) -> Head:
        """Puts other content in place; see `Store.replace`."""
        book = self._book(uri)
        epoch = old = book.log.head.position.epoch
        while epoch == old:
            epoch = randbits(EPOCH_BITS)
        if uri in self._touched:
            self._put(book)  # what the same batch appended has pieces of its own
            self._batch.put()
        head = book.replace(data, epoch, self._next("content"), self._clock())
        self._touched[uri] = book
        return head

    def compact(self, uri: str, floor: int) -> Head:
        """Forgets the revisions below `floor`; see `Store.compact`."""
        book = self._book(uri)
        if uri in self._touched:
            self._put(book)  # revisions are looked up in the file
            self._batch.put()
        book.log.compact(floor)
        self._touched[uri] = book
        return book.log.head

    def remove(self, uri: str) -> None:
        """Removes a resource with all that is kept of it.

        Raises:
            ResourceNotFound: there is none.
        """
        row = find(self._db, uri)
        self._books.pop(uri, None)
        self._touched.pop(uri, None)
        self._batch.put()
        self._discard(row.content)
        for statement in (
            "DELETE FROM resource WHERE id = ?",
            "DELETE FROM producer WHERE resource = ?",
            "DELETE FROM acknowledged WHERE resource = ?",
        ):
            self._db.execute(statement, (row.id,))
        if row.description.listed:
            self._note_list()

    def sweep(self, older_s: float = DISCARDED_S) -> None:
        """Removes content that was replaced, or whose resource was removed, so many seconds ago."""
        limit = self._clock() - older_s
        for (content,) in self._db.execute("SELECT content FROM discarded WHERE at <= ?", (limit,)).fetchall():
            for table in ("piece", "document", "cause", "discarded"):
                self._db.execute(f"DELETE FROM {table} WHERE content = ?", (content,))

    def shrink(self, pages: int) -> None:
        """Gives up to so many pages that hold nothing back to the disk."""
        self._db.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()

    def _discard(self, content: int) -> None:
        self._db.execute("INSERT INTO discarded VALUES (?, ?)", (content, self._clock()))

    def _there(self, uri: str) -> bool:
        try:
            self._book(uri)
        except ResourceNotFound:
            return False
        return True

    def _book(self, uri: str) -> Book:
        book = self._books.get(uri)
        if book is None:
            book = self._books[uri] = Book(self._db, find(self._db, uri), self._limits, self._batch)
        self._books.move_to_end(uri)
        return book

    def _demand_room(self) -> None:
        most = self._limits.resources
        if self._db.execute("SELECT count(*) FROM resource").fetchone()[0] >= most:
            raise LimitExceeded("resources", most, "remove some with `streamres gc`")

    def _create(self, description: Description, content: bytes) -> Book:
        head = Head(position=Position(randbits(EPOCH_BITS), 0, 0))
        if content:
            ResourceLog(description.uri, epoch=0, kind=description.kind, content=content, limits=self._limits)
        self._db.execute(
            "INSERT INTO resource (uri, description, content, epoch, revision, length, state, floor, floor_length,"
            " change, changed_at) VALUES (?, ?, ?, ?, 0, 0, 'open', 0, 0, 0, ?)",
            (
                description.uri,
                description_json(description),
                self._next("content"),
                head.position.epoch,
                self._clock(),
            ),
        )
        if description.listed:
            self._note_list()
        book = self._book(description.uri)
        if content:
            book.log.content = book.log.content.replaced(content)
            book.log.revisions = book.log.revisions.begun(book.log.content.length)
            epoch = book.log.head.position.epoch
            book.log.head = Head(position=Position(epoch, 0, book.log.content.length))
            book.begin(book.row.content)
        self._touched[description.uri] = book
        return book

    def _put(self, book: Book) -> None:
        self._change = self._change or self._next("change")
        book.write(self._change, self._clock())

    def _note_list(self) -> None:
        self._list_change = self._list_change or self._next("list")

    def _next(self, name: str) -> int:
        row = self._db.execute("UPDATE counter SET value = value + 1 WHERE name = ? RETURNING value", (name,))
        return int(row.fetchone()[0])
