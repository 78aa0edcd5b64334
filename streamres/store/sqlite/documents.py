"""The documents that were read last, brought up to date by the patches since."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from streamres.store.sqlite.book import advance, read_document

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.model import Document
    from streamres.store.sqlite.pieces import StoredContent
    from streamres.store.sqlite.rows import Row

KEPT: Final = 64
"""Documents at hand; others are read from the file when they are asked for again."""


class Documents:
    """The documents of the readers of one file."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._kept: OrderedDict[int, tuple[int, Document]] = OrderedDict()

    def at(self, row: Row, stored: StoredContent) -> Document:
        """Gives the document at the head of a resource; it changes when a later one is asked for."""
        length = row.head.position.length
        kept = self._kept.pop(row.content, None)
        if kept is not None and kept[0] <= length:
            before, document = kept
            advance(document, stored, before, length)
        else:
            document = read_document(stored, length, self._limits)
        self._kept[row.content] = (length, document)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return document
