"""The reader's half: takes answers and notifications as they come and hands over each piece of content once.

Of text and bytes it holds a cursor, a length and a running hash, not the content; of json the document. Cursors
are compared for equality only (SR-4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal

from streamres.errors import DigestMismatch
from streamres.limits import Limits
from streamres.model.digest import digest_of
from streamres.model.document import Document
from streamres.model.json_value import encode_json
from streamres.model.patch import encode_patch

if TYPE_CHECKING:
    from hashlib import _Hash

    from streamres.model.content import Kind
    from streamres.model.json_value import JsonValue
    from streamres.model.log import State
    from streamres.model.patch import Operation

READER: Final = Limits(json_bytes=1 << 30, json_depth=256, patch_ops=1 << 30)
"""What a reader takes of json: a server has limits of its own, and merges many patches into one."""

Outcome = Literal["applied", "duplicate", "gap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """One step of a followed resource.

    Without `reset`, `text`, `blob` or `patch` continues what came before. With it, the content replaces everything
    that came before, and the word says why: `expired`, `epoch` or `ahead` (SR-5.5); `smaller` for a document that
    is sent whole since that took less (SR-5.10).
    """

    text: str = ""
    blob: bytes = b""
    patch: list[Operation] | None = None
    """For json, what was changed (RFC 6902, and `append`); None where the document came whole."""
    value: JsonValue = None
    """For json, the document after this step; None where it is not known, as to a reader that came with a cursor.

    It is the reader's own: it changes with the next step, and must not be changed.
    """
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
    causes: tuple[str, ...] = ()
    """What led to a delta, as its producer named it, oldest first, each once (SR-8.4.a)."""
    more: bool = False
    """More is there to be read at once."""

    @property
    def data(self) -> bytes:
        """The content of this step as bytes: of a text, its UTF-8; of json, the patch or document in JSON."""
        match self.kind:
            case "text":
                return self.text.encode("utf-8")
            case "blob":
                return self.blob
            case "json":
                return encode_json(self.value) if self.patch is None else encode_patch(self.patch)

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
        self._document: Document | None = None

    @property
    def sealed(self) -> bool:
        """Says whether the end was reached."""
        return self.state != "open"

    def snapshot(self, update: Update) -> Update:
        """Takes a snapshot, from wherever the reader was, and gives what of it is news to the reader.

        Raises:
            DigestMismatch: the seal's digest is not that of the content; the reader stays where it was;
                of json, it is at the beginning again.
        """
        if update.kind == "json":
            return self._take_document(update)
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
            DigestMismatch: as `snapshot`.
            DeltaError: a patch does not apply to the document; the reader stays where it was.
        """
        if update.cursor == self.cursor:
            self.state = update.state  # a reader that came with a cursor learns here whether it is the seal's
            return "duplicate"
        if update.since is None or update.since != self.cursor:
            return "gap"
        if update.patch is None:
            self._advance(update, update.data, self._hash and self._hash.copy(), self._length)
        else:
            if self._document is not None and update.patch:
                self._document.apply(update.patch, update.data)
            self._stand(update)
        return "applied"

    def with_value(self, update: Update) -> Update:
        """Gives the step that was just taken, with the document after it where it is one of json."""
        if update.kind != "json" or self._document is None:
            return update
        return replace(update, value=self._document.value)

    def _take_document(self, update: Update) -> Update:
        if self.cursor is not None and update.reset is None:
            update = replace(update, reset="epoch")  # as below
        self._document = Document(READER, update.value)
        self._stand(update)
        return update

    def _stand(self, update: Update) -> None:
        """Moves on to where a document stands."""
        if update.digest is not None and self._document is not None:
            actual = self._document.digest()
            if actual != update.digest:
                self._document = self.cursor = None  # the step is made; only a snapshot can help
                raise DigestMismatch(self.uri, update.digest, actual or "none: the document is outside I-JSON")
        self.cursor = update.cursor
        self.state = update.state

    def _advance(self, update: Update, added: bytes, digest: _Hash | None, length: int) -> None:
        if digest is not None:
            digest.update(added)
            if update.digest is not None:
                actual = digest_of(digest)
                if actual != update.digest:
                    raise DigestMismatch(self.uri, update.digest, actual)
        self._hash = digest
        self._length = length + len(added)
        self.cursor = update.cursor
        self.state = update.state
