"""The content of a json resource: the document as it stands, and the patches that led there, as they go out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar, Final

from streamres.errors import DeltaError
from streamres.model.content import TextContent
from streamres.model.delta import Patch, Snapshot
from streamres.model.document import Document
from streamres.model.json_value import parse_json
from streamres.model.lowering import lowered_to
from streamres.model.operations import Operations
from streamres.model.patch import encode_patch, merged, parse_patch

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.model.content import Kind
    from streamres.model.cursor import Position

WORTH_BYTES: Final = 1024
"""By so much a snapshot has to be smaller than a delta to be given in its place (SR-5.10): a delta says more."""


class _JsonText(TextContent):
    """A document encoded: it never grows, so whoever walks it walks one revision."""

    __slots__ = ()

    kind: ClassVar[Kind] = "json"


class JsonContent:
    """The patches of one epoch, in bytes of their operations, and the document at its head."""

    __slots__ = ("_document", "_limits", "_text", "operations")

    kind: ClassVar[Kind] = "json"

    def __init__(
        self, limits: Limits, document: Document | None = None, operations: Operations | None = None
    ) -> None:
        self._limits = limits
        self._document = document or Document(limits)
        self.operations = operations or Operations()
        self._text: _JsonText | None = None

    @property
    def length(self) -> int:
        """Bytes of operations since the epoch began; those before the floor are forgotten."""
        return self.operations.length

    @property
    def document(self) -> Document:
        """The document at the head."""
        return self._document

    def append(self, data: bytes) -> None:
        """Makes the patch whose JSON is `data`; no bytes are no patch.

        Raises:
            DeltaError: it is no patch or cannot be applied; nothing has changed.
            LimitExceeded: `json_bytes`, `json_depth`, `patch_ops`; nothing has changed.
        """
        operations = parse_patch(data, self._limits) if data else []
        if not operations:
            return
        encoded = encode_patch(operations)
        self._document.apply(operations, encoded)
        self.operations.append(encoded[1:-1] + b",")
        self._text = None

    def replaced(self, data: bytes) -> JsonContent:
        """Gives the content of a new epoch, begun with the document whose JSON is `data`; raises as `append`."""
        document = Document(self._limits, parse_json(data, max_depth=self._limits.json_depth))
        return JsonContent(self._limits, document, self.operations.begun())

    def digest(self) -> str | None:
        """Gives the digest of the document; None outside I-JSON (SR-3.4)."""
        return self._document.digest()

    def digest_after(self, data: bytes) -> str | None:
        """Gives the digest of the document, which has to stand when it is asked for.

        Raises:
            DeltaError: `data` is a patch.
        """
        if data:
            raise DeltaError("the digest of a document comes with a seal that is a step of its own")
        return self.digest()

    def forget(self, length: int) -> None:
        """Drops the operations before the offset `length`: nobody can ask for them any more."""
        self.operations.forget(length)

    def snapshot(self, head: Position) -> Snapshot:
        """Gives the whole document; the same bytes to everyone while it stands."""
        if self._text is None:
            self._text = _JsonText()
            self._text.append(self._document.encoded())
        return Snapshot(stop=head, content=self._text, end=self._text.length)

    def delta(self, start: Position, stop: Position, head: Position, *, append_op: bool) -> Patch | None:
        """Gives the patch from `start` to `stop`; None where a snapshot is smaller (SR-5.10), or clear.

        Without `append_op` the reader gets RFC 6902 alone. A string that grew is then sent as it is at the head,
        so a patch that holds one leads there, whatever `stop` is (SR-2.5).
        """
        operations = self._between(start, stop)
        if len(operations) > self._limits.json_bytes:
            return None
        if not append_op and b'{"op":"append",' in operations:
            stop = head
            plain = lowered_to(self._document.value, json.loads(self._between(start, stop)))
            if plain is None:
                return None
            operations = encode_patch(merged(plain))
        elif stop.revision - start.revision > 1:
            operations = encode_patch(merged(json.loads(operations)))
        # What the document took when it was encoded last says whether it pays to encode it again.
        excess = len(operations) - WORTH_BYTES
        if excess > self._document.measured // 2 and excess > len(self._document.encoded()):
            return None
        return Patch(start=start, stop=stop, operations=operations)

    def _between(self, start: Position, stop: Position) -> bytes:
        return b"[" + self.operations.between(start.length, max(start.length, stop.length - 1)) + b"]"
