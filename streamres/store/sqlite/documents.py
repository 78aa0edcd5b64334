"""Documents, read from the one saved last and the patches since."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from streamres.errors import DeltaError, LimitExceeded, StoreError
from streamres.model import Document, parse_json
from streamres.model.reassembler import READER

if TYPE_CHECKING:
    from streamres.store.sqlite.pieces import StoredContent
    from streamres.store.sqlite.rows import Row

KEPT: Final = 64
"""Documents at hand; others are read from the file when they are asked for again."""


class Documents:
    """The documents that were asked for last, each brought up to date by the patches since."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[int, Document]] = OrderedDict()

    def at(self, row: Row, stored: StoredContent) -> Document:
        """Gives the document at the head of a resource; it changes when a later one is asked for."""
        length = row.head.position.length
        kept = self._kept.pop(row.content, None)
        if kept is not None and row.floor_length <= kept[0] <= length:  # patches below the floor may be gone
            before, document = kept
            advance(document, stored, before, length)
        else:
            document = read_document(stored, length)
        self._kept[row.content] = (length, document)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return document


def read_document(stored: StoredContent, length: int) -> Document:
    """Gives the document after `length` bytes of operations: the one saved last, and the operations since.

    It is read whatever the limits are now: they were others when it was written.

    Raises:
        StoreError: it is damaged.
    """
    pieces = stored.pieces
    saved = pieces.db.execute("SELECT length, data FROM document WHERE content = ?", (pieces.content,)).fetchone()
    begin, data = saved or (0, b"null")
    try:
        document = Document(READER, parse_json(data, max_depth=READER.json_depth))
    except (DeltaError, LimitExceeded) as exc:
        raise StoreError(f"a document is damaged; see what `streamres doctor` finds ({exc})") from exc
    advance(document, stored, begin, length)
    return document


def advance(document: Document, stored: StoredContent, begin: int, end: int) -> None:
    """Makes the operations between two offsets.

    Raises:
        StoreError: they are damaged.
    """
    if end > begin:
        patch = b"[" + b"".join(stored.slices(begin, end))[:-1] + b"]"
        try:
            document.apply(json.loads(patch), patch)
        except (ValueError, LookupError, TypeError, DeltaError, LimitExceeded) as exc:
            raise StoreError(f"the patches are damaged; see what `streamres doctor` finds ({exc})") from exc
