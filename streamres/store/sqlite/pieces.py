"""The content of a resource in the file, read as content in memory is: a walk over pieces, looked up by offset.

The same objects collect what is appended until the writer puts it into the file.
"""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Self

from streamres.errors import StoreError
from streamres.model import BLOCK_BYTES, BlobContent, Operations, Revisions, TextContent

if TYPE_CHECKING:
    from streamres.model import Kind

ENDS: Final = "I"
"""Ends of revisions within a piece, counted from its beginning: four bytes each."""


class Pieces:
    """The pieces of one content."""

    def __init__(self, db: sqlite3.Connection, content: int) -> None:
        self.db = db
        self.content = content

    def slice(self, begin: int, end: int) -> bytes:
        """Gives the bytes from `begin` to `end`, or fewer where the file has fewer; of many small pieces at once.

        Raises:
            StoreError: not even the first of them is there any more.
        """
        parts: list[bytes] = []
        reached = begin
        try:
            rows = self.db.execute(
                "SELECT max(begin, ?1), substr(data, max(?1 - begin, 0) + 1, ?2 - max(begin, ?1)) FROM piece"
                " WHERE content = ?3 AND begin < ?2 AND begin >="
                " (SELECT max(begin) FROM piece WHERE content = ?3 AND begin <= ?1) ORDER BY begin",
                (begin, end, self.content),
            )
            for at, part in rows:
                # Past a large piece it is not gone on: the next slice then begins where the next piece does.
                if at != reached or reached - begin >= BLOCK_BYTES // 2:
                    break
                parts.append(part)
                reached += len(part)
        except sqlite3.Error as exc:  # a slice is taken long after the read that gave it
            raise StoreError(f"the content cannot be read: {exc}") from exc
        if reached == begin:
            raise StoreError("the content was replaced or removed while it was read; read again")
        return b"".join(parts)

    def holding(self, revision: int) -> tuple[int, int, array[int]] | None:
        """Gives the piece in which a revision ends: where it begins, its first revision, and the ends in it."""
        return self._found(
            "SELECT begin, revision, ends FROM piece WHERE content = ? AND revision <= ?"
            " ORDER BY revision DESC, begin DESC LIMIT 1",
            revision,
        )

    def reaching(self, length: int) -> tuple[int, int, array[int]] | None:
        """Gives the piece that holds the byte before the offset `length`."""
        return self._found(
            "SELECT begin, revision, ends FROM piece WHERE content = ? AND begin < ? ORDER BY begin DESC LIMIT 1",
            length,
        )

    def _found(self, query: str, value: int) -> tuple[int, int, array[int]] | None:
        row = self.db.execute(query, (self.content, value)).fetchone()
        if row is None:
            return None
        ends = array(ENDS)
        ends.frombytes(row[2])
        return row[0], row[1], ends


class StoredContent(BlobContent):
    """The bytes of one epoch in the file."""

    __slots__ = ("_hashed", "pending", "pieces")

    def __init__(self, pieces: Pieces, length: int) -> None:
        super().__init__()
        self.pieces = pieces
        self.pending: list[bytes] = []
        """What was appended and is not in the file yet."""
        self.length = length
        self._hashed = 0 if length else -1  # how far the hash goes; -1 where it goes to the end

    def append(self, data: bytes) -> None:
        """Collects `data`; raises as `BlobContent.append`."""
        self._check(data)
        if self._hashed < 0:
            self._hash.update(data)
        if data:
            self.pending.append(data)
            self.length += len(data)

    def replaced(self, data: bytes) -> Self:
        """Gives other content, with pieces of its own once the writer has made them."""
        content = type(self)(Pieces(self.pieces.db, 0), 0)
        content.append(data)
        return content

    def digest(self) -> str:
        """Gives the digest of all; after a restart the file is read for it once."""
        if self._hashed >= 0:
            self._hash = sha256()
            for data in self.slices(0, self.length - sum(map(len, self.pending))):
                self._hash.update(data)
            for data in self.pending:
                self._hash.update(data)
            self._hashed = -1
        return super().digest()

    def _slice(self, begin: int, end: int) -> bytes:
        return self.pieces.slice(begin, min(end, begin + BLOCK_BYTES))


class StoredText(StoredContent, TextContent):
    """The UTF-8 of one epoch in the file."""

    __slots__ = ()
    kind = TextContent.kind


def stored_content(pieces: Pieces, kind: Kind, length: int) -> StoredContent:
    """Gives the content in the file; of json, that of its operations."""
    return StoredText(pieces, length) if kind == "text" else StoredContent(pieces, length)


class StoredOperations(Operations):
    """The patches of one epoch in the file."""

    __slots__ = ("stored",)

    def __init__(self, stored: StoredContent) -> None:
        super().__init__()
        self.stored = stored

    @property
    def length(self) -> int:
        """Bytes since the epoch began."""
        return self.stored.length

    def append(self, data: bytes) -> None:
        """Collects operations."""
        self.stored.append(data)

    def between(self, begin: int, end: int) -> bytes:
        """Gives the bytes between two offsets that are in the file."""
        return b"".join(self.stored.slices(begin, end))

    def forget(self, length: int) -> None:
        """Leaves it to the writer, which knows the floor."""

    def begun(self) -> StoredOperations:
        """Gives those of a new epoch, none yet."""
        return StoredOperations(StoredContent(Pieces(self.stored.pieces.db, 0), 0))


class StoredRevisions(Revisions):
    """Where the revisions of one epoch end, in the file and after it."""

    __slots__ = ("floor_length", "head", "pending", "pieces")

    def __init__(self, pieces: Pieces, *, floor: int, floor_length: int, head: int) -> None:
        super().__init__(floor_length)
        self.pieces = pieces
        self.floor, self.floor_length = floor, floor_length
        self.head = head
        """The newest revision that is in the file."""
        self.pending: list[int] = []
        """The ends of those after it."""

    def append(self, length: int) -> None:
        """Adds the revision after the newest."""
        self.pending.append(length)

    def end(self, revision: int) -> int:
        """Gives the length at a revision from the floor on."""
        if revision == self.floor:
            return self.floor_length
        if revision > self.head:
            return self.pending[revision - self.head - 1]
        found = self.pieces.holding(revision)
        if found is None:
            raise StoreError("the history was replaced or removed while it was read; read again")
        begin, first, ends = found
        return begin + ends[revision - first]

    def reaching(self, length: int) -> int:
        """Gives the first revision at which the content is at least so long."""
        if length <= self.floor_length:
            return self.floor
        found = self.pieces.reaching(length)
        if found is None:
            return self.head + 1 + bisect_left(self.pending, length)
        begin, first, ends = found
        revision = first + bisect_left(ends, length - begin)
        if revision > self.head:
            return self.head + 1 + bisect_left(self.pending, length)
        return revision

    def within(self, length: int) -> int:
        """Gives the last revision at which the content is at most so long."""
        found = self.pieces.reaching(length + 1)
        if found is None:
            return self.floor
        begin, first, ends = found
        return max(self.floor, first + bisect_right(ends, length - begin) - 1)

    def begun(self, length: int) -> StoredRevisions:
        """Gives those of a new epoch whose first content is so long."""
        return StoredRevisions(Pieces(self.pieces.db, 0), floor=0, floor_length=length, head=0)

    def forget(self, floor: int) -> None:
        """Moves the floor; the pieces of a text or blob stay, for they are its content."""
        self.floor_length = self.end(floor)
        self.floor = floor
