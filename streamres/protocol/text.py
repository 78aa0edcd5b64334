"""Text of a resource as the inside of a JSON string: walked in pieces, each piece encoded once.

Readers that want the same range (a thousand watchers of one delta, late joiners of one log) share the bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.model import Append, Snapshot

CACHE_BYTES: Final = 4 * 1024 * 1024
"""Encoded pieces that are kept: enough for readers that are near one another, little beside a log."""


class TextEncoder:
    """Gives the JSON form of any delta or snapshot without quotes, and remembers the pieces used last."""

    def __init__(self, cache_bytes: int = CACHE_BYTES) -> None:
        self._pieces: OrderedDict[tuple[str, int, int, int], bytes] = OrderedDict()
        self._free = cache_bytes

    def pieces(self, uri: str, step: Append | Snapshot) -> Iterator[bytes]:
        """Walks the step's text in JSON-escaped pieces of bounded size."""
        # (uri, epoch, range) names the same bytes for ever (SR-3.1), so a piece is never out of date.
        epoch = step.stop.epoch
        begin = step.begin
        for data in step.slices():
            end = begin + len(data)
            key = (uri, epoch, begin, end)
            piece = self._pieces.get(key)
            if piece is None:
                piece = orjson.dumps(str(data, "utf-8"))[1:-1]
                self._keep(key, piece)
            else:
                self._pieces.move_to_end(key)
            yield piece
            begin = end

    def joined(self, uri: str, step: Append | Snapshot) -> bytes:
        """Gives the whole JSON-escaped text of a small step."""
        return b"".join(self.pieces(uri, step))

    def _keep(self, key: tuple[str, int, int, int], piece: bytes) -> None:
        self._pieces[key] = piece
        self._free -= len(piece)
        while self._free < 0:
            self._free += len(self._pieces.popitem(last=False)[1])
