"""Whether the content of one resource in the file is whole: its pieces, its revisions, its digest."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from streamres.errors import StreamresError
from streamres.model.digest import digest_of
from streamres.model.patch import parse_patch
from streamres.model.reassembler import READER
from streamres.store.sqlite.documents import read_document
from streamres.store.sqlite.pieces import ENDS, Pieces, stored_content

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from streamres.store.sqlite.rows import Row


@dataclass(slots=True)
class Content:
    """One resource's content, walked once; afterwards `ends` has the length at each revision after `before`."""

    db: sqlite3.Connection
    row: Row
    ends: array[int] = field(default_factory=lambda: array("Q"))
    before: int = 0
    """The revision before the first that is in the file."""
    _begin: int = 0

    def length_at(self, revision: int) -> int | None:
        """Gives the length at a revision that is in the file."""
        if revision == self.row.floor:
            return self.row.floor_length
        index = revision - self.before - 1
        return self.ends[index] if 0 <= index < len(self.ends) else None

    def findings(self) -> Iterator[str]:
        """Gives what is wrong, a line each."""
        position = self.row.head.position
        json = self.row.description.kind == "json"
        sha = sha256()
        reached: int | None = None
        for begin, revision, packed, data in self.db.execute(
            "SELECT begin, revision, ends, data FROM piece WHERE content = ? ORDER BY begin", (self.row.content,)
        ):
            if reached is None:
                reached = self._begin = begin if json else 0
                self.before = revision - 1 if json else 0
            if begin != reached:
                yield f"a piece begins at {begin}, those before it end at {reached}"
            yield from self._piece(begin, revision, packed, data)
            reached = begin + len(data)
            sha.update(data)
        if reached is None:
            reached = self._begin = position.length if json else 0
            self.before = position.revision if json else 0
        if reached != position.length:
            yield f"the pieces end at {reached}, the content at {position.length}"
        yield from self._revisions()
        if json:
            yield from self._document()
        elif self.row.head.state != "open" and digest_of(sha) != self.row.head.digest:
            yield f"sealed with the digest {self.row.head.digest}, the content has {digest_of(sha)}"

    def _piece(self, begin: int, revision: int, packed: bytes, data: bytes) -> Iterator[str]:
        if revision != (expected := self.before + len(self.ends) + 1):
            yield f"the piece at {begin} begins with revision {revision}, due is {expected}"
        if len(packed) % array(ENDS).itemsize:
            yield f"the piece at {begin} has a torn list of revisions"
            return
        ends = array(ENDS)
        ends.frombytes(packed)
        if any(end > len(data) for end in ends):
            yield f"a revision of the piece at {begin} ends beyond it"
        self.ends.extend(begin + end for end in ends)
        if self.row.description.kind == "text":
            try:
                data.decode()
            except UnicodeDecodeError as exc:
                yield f"the piece at {begin} is not UTF-8 of whole code points: {exc.reason} at {exc.start}"
            if any(end < len(data) and data[end] & 0xC0 == 0x80 for end in ends):
                yield f"a revision of the piece at {begin} ends inside a code point"

    def _revisions(self) -> Iterator[str]:
        row, head = self.row, self.row.head
        revision, length = head.position.revision, head.position.length
        if (last := self.before + len(self.ends)) != revision:
            yield f"the newest revision in the pieces is {last}, the head is {revision}"
        if self.ends and self.ends[-1] != length:
            yield f"revision {last} ends at {self.ends[-1]}, the content at {length}"
        if not self.before <= row.floor <= min(revision, last) or row.floor_length > length:
            yield f"the floor is revision {row.floor} with {row.floor_length} bytes, outside of what is kept"
        elif row.floor > self.before and self.ends[row.floor - self.before - 1] != row.floor_length:
            at = self.ends[row.floor - self.before - 1]
            yield f"the floor, revision {row.floor}, ends at {at}, not at {row.floor_length}"
        elif revision == row.floor and row.floor_length != length:
            yield f"the floor is the head, and ends at {row.floor_length}, not at {length}"
        before = row.floor_length if row.floor == self.before else self._begin
        for index, end in enumerate(self.ends):
            # Each revision adds something; a seal alone may add nothing.
            if end < before or (end == before and (index + 1 < len(self.ends) or head.state == "open")):
                yield f"revision {self.before + index + 1} ends at {end}, the one before it at {before}"
                return
            before = end

    def _document(self) -> Iterator[str]:
        row, head = self.row, self.row.head
        saved = self.db.execute("SELECT length FROM document WHERE content = ?", (row.content,)).fetchone()
        if saved is None:
            yield "no document was saved"
            return
        if saved[0] > head.position.length:
            yield f"the document was saved at {saved[0]}, the patches end at {head.position.length}"
            return
        if self._begin > min(saved[0], row.floor_length):
            yield f"the patches begin at {self._begin}, after the saved document or the floor"
            return
        stored = stored_content(Pieces(self.db, row.content), "json", head.position.length)
        try:
            document = read_document(stored, head.position.length)
            kept = b"".join(stored.slices(row.floor_length, head.position.length))
            parse_patch(b"[" + kept[:-1] + b"]", READER)  # readers are given those before the saved document too
        except StreamresError as exc:
            yield f"the patches do not lead from the saved document to the head: {exc}"
            return
        if head.state != "open" and document.digest() != head.digest:
            yield f"sealed with the digest {head.digest}, the document has {document.digest()}"
