"""What the writer knows of the resources that it wrote to last, and how it goes into the file.

A book is a resource's log with its rows beside it: the log decides, as it does in memory, and what it added is put
into the file in the transaction of the same batch. A batch that fails is forgotten with its books, and read again.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

from streamres.model import (
    BLOCK_BYTES,
    BlobContent,
    Document,
    JsonContent,
    ResourceLog,
    Retention,
    TextContent,
)
from streamres.store.sqlite.causes import StoredCauses
from streamres.store.sqlite.documents import read_document
from streamres.store.sqlite.pieces import (
    ENDS,
    Pieces,
    StoredContent,
    StoredOperations,
    StoredRevisions,
    stored_content,
)
from streamres.store.sqlite.producers import recorded

if TYPE_CHECKING:
    import sqlite3

    from streamres.limits import Limits
    from streamres.model import AppendNumber, Head, Seal
    from streamres.store.sqlite.batch import Batch
    from streamres.store.sqlite.rows import Row

_SMALL_BYTES: Final = BLOCK_BYTES // 2
"""Pieces below this are joined once there are enough of them for a whole one."""


class Book:
    """One resource while it is written to."""

    def __init__(self, db: sqlite3.Connection, row: Row, limits: Limits, batch: Batch) -> None:
        self.row = row
        self.told = row.head if row.change else None
        """The head that watchers were told last."""
        self._db = db
        self._limits = limits
        self._batch = batch
        self._pieces = Pieces(db, row.content)
        self.stored = stored_content(self._pieces, row.description.kind, row.head.position.length)
        self.revisions = StoredRevisions(
            self._pieces, floor=row.floor, floor_length=row.floor_length, head=row.head.position.revision
        )
        self.log = ResourceLog.restored(
            row.description.uri,
            content=self._content(),
            revisions=self.revisions,
            head=row.head,
            producers=recorded(db, row.id, limits),
            causes=StoredCauses(self._pieces),
            limits=limits,
        )
        self.retention = Retention(limits)
        self._tail: list[int] = self._small_pieces()  # where the newest small pieces begin
        self._saved = self._document_length()

    def commit(
        self,
        data: bytes,
        seal: Seal | None,
        number: AppendNumber | None,
        expected: int | None,
        expected_digest: str | None,
        cause: str | None,
    ) -> Head:
        """Appends, seals, or both; see `ResourceLog.commit`."""
        head = self.log.commit(
            data,
            seal=seal,
            number=number,
            expected_revision=expected,
            expected_digest=expected_digest,
            cause=cause,
        )
        if number is not None:
            self._batch.number(self.row.id, self.log.producers, number)
        return head

    def replace(self, data: bytes, epoch: int, content: int, now: float) -> Head:
        """Puts other content in place, in pieces of the number `content`; see `ResourceLog.replace`."""
        head = self.log.replace(data, epoch=epoch)
        self._db.execute("INSERT INTO discarded VALUES (?, ?)", (self.row.content, now))
        self.row.content = content
        self.begin(content)
        return head

    def write(self, change: int, now: float) -> None:
        """Puts into the file what the log has more than it."""
        stored, revisions, head = self.stored, self.revisions, self.log.head
        self.retention.apply(self.log, now)
        if stored.pending or revisions.pending:
            data = b"".join(stored.pending)
            self._add(stored.length - len(data), revisions.head + 1, revisions.pending, data)
            stored.pending.clear()
            revisions.head += len(revisions.pending)
            revisions.pending.clear()
        content = self.log.content
        if isinstance(content, JsonContent):
            self._save(content)
        causes = self._causes()
        if causes.pending:
            self._batch.causes(self.row.content, causes.pending.values())
            causes.pending.clear()
        if causes.floor:
            self._batch.forget_causes(self.row.content, causes.floor)
            causes.floor = 0
        floor = (revisions.floor, revisions.floor_length)
        self._batch.resource(self.row.id, self.row.content, head, floor, change, now)

    def begin(self, content: int) -> None:
        """Takes up what the log has after a replacement."""
        self._pieces = Pieces(self._db, content)
        content_now = self.log.content
        operations = content_now.operations if isinstance(content_now, JsonContent) else None
        stored = operations.stored if isinstance(operations, StoredOperations) else content_now
        assert isinstance(stored, StoredContent)
        stored.pieces = self._pieces
        self.stored = stored
        revisions = self.log.revisions
        assert isinstance(revisions, StoredRevisions)
        revisions.pieces = self._pieces
        self.revisions = revisions
        self._causes().pieces = self._pieces
        self._tail = []
        self._saved = -1

    def _causes(self) -> StoredCauses:
        assert isinstance(self.log.causes, StoredCauses)
        return self.log.causes

    def _content(self) -> BlobContent | JsonContent:
        if self.row.description.kind != "json":
            return self.stored
        document = read_document(self.stored, self.stored.length)
        return JsonContent(self._limits, Document(self._limits, document.value), StoredOperations(self.stored))

    def _small_pieces(self) -> list[int]:
        begins: list[int] = []
        rows = self._db.execute(
            "SELECT begin, length(data) FROM piece WHERE content = ? ORDER BY begin DESC", (self.row.content,)
        )
        for begin, size in rows:
            if size >= _SMALL_BYTES:
                break
            begins.append(begin)
        return begins[::-1]

    def _add(self, begin: int, revision: int, ends: list[int], data: bytes) -> None:
        """Adds a piece, and joins the small ones where they make a whole one."""
        self._tail.append(begin)
        if begin + len(data) - self._tail[0] < BLOCK_BYTES:
            self._insert(begin, revision, ends, data)
            return
        self._batch.put()
        rows = self._db.execute(
            "SELECT begin, revision, ends, data FROM piece WHERE content = ? AND begin >= ? ORDER BY begin",
            (self.row.content, self._tail[0]),
        ).fetchall()
        before: list[int] = []
        for at, _, packed, _ in rows:
            unpacked = array(ENDS)
            unpacked.frombytes(packed)
            before += [at + end for end in unpacked]
        if rows:
            begin, revision = rows[0][:2]
            self._db.execute("DELETE FROM piece WHERE content = ? AND begin >= ?", (self.row.content, begin))
        self._tail.clear()
        self._split(begin, revision, before + ends, b"".join((*(row[3] for row in rows), data)))

    def _split(self, begin: int, revision: int, ends: list[int], data: bytes) -> None:
        """Inserts as many pieces as it takes, each of whole code points where it is one of a text."""
        whole = TextContent() if self.row.description.kind == "text" else BlobContent()
        whole.append(data)
        taken = offset = 0
        for piece in whole.slices(0, len(data)):
            offset += len(piece)
            last = offset == len(data)
            upto = (
                len(ends) if last else next((i for i, end in enumerate(ends) if end > begin + offset), len(ends))
            )
            self._insert(begin + offset - len(piece), revision + taken, ends[taken:upto], piece)
            taken = upto
            if last and len(piece) < _SMALL_BYTES:
                self._tail.append(begin + offset - len(piece))

    def _insert(self, begin: int, revision: int, ends: list[int], data: bytes) -> None:
        packed = array(ENDS, [end - begin for end in ends]).tobytes()
        self._batch.piece(self.row.content, begin, revision, packed, data)

    def _document_length(self) -> int:
        row = self._db.execute("SELECT length FROM document WHERE content = ?", (self.row.content,)).fetchone()
        return -1 if row is None else row[0]

    def _save(self, content: JsonContent) -> None:
        """Saves the document where the patches since are more than it is, and drops those below the floor."""
        self._batch.put()
        behind = content.length - self._saved
        if (
            self._saved < 0
            or behind > max(BLOCK_BYTES, content.document.measured)
            or self.log.head.state != "open"
        ):
            self._db.execute(
                "INSERT OR REPLACE INTO document VALUES (?, ?, ?)",
                (self.row.content, content.length, content.document.encoded()),
            )
            self._saved = content.length
        length, revision = min(self.revisions.floor_length, self._saved), self.revisions.floor
        self._db.execute(
            "DELETE FROM piece WHERE content = ? AND begin < ? AND begin + length(data) <= ?"
            " AND revision + length(ends) / ? <= ? + 1",
            (self.row.content, length, length, array(ENDS).itemsize, revision),
        )
