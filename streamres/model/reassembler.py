"""The reader's half: takes answers and notifications as they come and hands over each piece of content once.

It holds a cursor, a length and a running hash, not the content. Cursors are compared for equality only (SR-4.1).
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from streamres.errors import DigestMismatch

if TYPE_CHECKING:
    from hashlib import _Hash

    from streamres.model.content import Kind
    from streamres.model.log import State

Outcome = Literal["applied", "duplicate", "gap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """One step of a followed resource.

    Without `reset`, `text` or `blob` continues what came before. With it, it replaces everything that came
    before, and the word says why: `expired`, `epoch` or `ahead` (SR-5.5).
    """

    text: str = ""
    blob: bytes = b""
    kind: Kind = "text"
    since: str | None = None
    """The cursor that a delta continues; None for a snapshot."""
    cursor: str
    revision: int
    state: State
    reset: str | None = None
    start: int = 0
    """Byte offset of a snapshot, where only the tail was asked for (SR-5.8)."""
    digest: str | None = None
    more: bool = False
    """More is there to be read at once."""

    @property
    def data(self) -> bytes:
        """The content of this step as bytes: of a text, its UTF-8."""
        return self.blob if self.kind == "blob" else self.text.encode("utf-8")

    @property
    def sealed(self) -> bool:
        """Says whether this is the end: nothing follows."""
        return self.state != "open"

    def with_data(self, data: bytes) -> Update:
        """Gives the same step with other content and as no reset."""
        if self.kind == "blob":
            return replace(self, blob=data, reset=None)
        return replace(self, text=data.decode("utf-8"), reset=None)


class Reassembler:
    """Follows one resource from nothing, or from a cursor of an earlier reader. Moves forward only (M7)."""

    def __init__(self, uri: str, *, since: str | None = None) -> None:
        self.uri = uri
        self.cursor = since
        self.state: State = "open"
        self._length = 0
        # What came before a foreign cursor is unknown, and so is the digest of the whole.
        self._hash: _Hash | None = sha256() if since is None else None

    @property
    def sealed(self) -> bool:
        """Says whether the end was reached."""
        return self.state != "open"

    def snapshot(self, update: Update) -> Update:
        """Takes a snapshot, from wherever the reader was, and gives what of it is news to the reader.

        Raises:
            DigestMismatch: the seal's digest is not that of the content; the reader stays where it was.
        """
        data = update.data
        if self.cursor is not None and self._hash is not None and update.reset in (None, "expired"):
            # The same epoch, so the same beginning, if the server keeps SR-3.1: only the rest is news.
            known = data[: self._length]
            if len(known) == self._length and sha256(known).digest() == self._hash.digest():
                rest = data[self._length :]
                self._advance(update, rest, self._hash.copy(), self._length)
                return update.with_data(rest)
        if self.cursor is not None and update.reset is None:
            # SR-5.5: any answer without a delta is a snapshot, whether its server says why or not.
            update = replace(update, reset="epoch")
        self._advance(update, data, sha256() if update.start == 0 else None, 0)
        return update

    def delta(self, update: Update) -> Outcome:
        """Takes the delta from the cursor `update.since` to `update.cursor`.

        A duplicate changes nothing; neither does a gap, and the reader then reads since its cursor.

        Raises:
            DigestMismatch: the seal's digest is not that of the content; the reader stays where it was.
        """
        if update.cursor == self.cursor:
            self.state = update.state  # a reader that came with a cursor learns here whether it is the seal's
            return "duplicate"
        if update.since is None or update.since != self.cursor:
            return "gap"
        self._advance(update, update.data, self._hash and self._hash.copy(), self._length)
        return "applied"

    def _advance(self, update: Update, added: bytes, digest: _Hash | None, length: int) -> None:
        if digest is not None:
            digest.update(added)
            if update.digest is not None:
                actual = f"sha-256=:{b64encode(digest.digest()).decode()}:"
                if actual != update.digest:
                    raise DigestMismatch(self.uri, update.digest, actual)
        self._hash = digest
        self._length = length + len(added)
        self.cursor = update.cursor
        self.state = update.state
