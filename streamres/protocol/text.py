"""Content of a resource as the inside of a JSON string: walked in pieces, each piece encoded once.

Readers that want the same range (a thousand watchers of one delta, late joiners of one log) share the bytes.
"""

from __future__ import annotations

from base64 import b64encode
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.model import Append, Kind, Snapshot

CACHE_BYTES: Final = 4 * 1024 * 1024
"""Encoded pieces that are kept: enough for readers that are near one another, little beside a log."""


_ENTRY_BYTES: Final = 512
"""What keeping a piece costs beside its bytes."""

_Key = tuple[str, int, int, int, int]
"""URI, epoch, revision (0 where the range says it all) and range name the same bytes for ever (SR-3.1)."""


class TextEncoder:
    """Gives the JSON form of any delta or snapshot without quotes, and remembers the pieces used last."""

    def __init__(self, cache_bytes: int = CACHE_BYTES) -> None:
        self._pieces: OrderedDict[_Key, bytes] = OrderedDict()
        self._free = cache_bytes

    def pieces(self, uri: str, step: Append | Snapshot) -> Iterator[bytes]:
        """Walks the step's text JSON-escaped, its bytes in base64, in pieces of bounded size."""
        begin = step.begin
        for data in _slices(step):
            end = begin + len(data)
            key = _key(uri, step, begin, end)
            piece = self._kept(key)
            if piece is None:
                piece = self._keep(key, _encoded(step.content.kind, data))
            yield piece
            begin = end

    def joined(self, uri: str, step: Append | Snapshot) -> bytes:
        """Gives the whole of a small step, encoded."""
        key = _key(uri, step, step.begin, step.begin + step.size)
        text = self._kept(key)
        if text is None:
            text = self._keep(key, b"".join(_encoded(step.content.kind, data) for data in _slices(step)))
        return text

    def _kept(self, key: _Key) -> bytes | None:
        piece = self._pieces.get(key)
        if piece is not None:
            self._pieces.move_to_end(key)
        return piece

    def _keep(self, key: _Key, piece: bytes) -> bytes:
        self._pieces[key] = piece
        self._free -= len(piece) + _ENTRY_BYTES
        while self._free < 0:
            self._free += len(self._pieces.popitem(last=False)[1]) + _ENTRY_BYTES
        return piece


def _key(uri: str, step: Append | Snapshot, begin: int, end: int) -> _Key:
    # Text and bytes only grow in an epoch; a document is another one at each revision.
    revision = step.stop.revision if step.content.kind == "json" else 0
    return uri, step.stop.epoch, revision, begin, end


def _encoded(kind: Kind, data: bytes) -> bytes:
    return b64encode(data) if kind == "blob" else escaped(data)


def escaped(data: bytes) -> bytes:
    """Gives UTF-8 as the inside of a JSON string."""
    return orjson.dumps(str(data, "utf-8"))[1:-1]


def _slices(step: Append | Snapshot) -> Iterator[bytes]:
    """The step's slices; of a blob, so that all but the last fill whole groups of base64."""
    if step.content.kind != "blob":
        yield from step.slices()
        return
    rest = b""
    for data in step.slices():
        held = rest + data
        grouped = len(held) - len(held) % 3
        rest = held[grouped:]
        if grouped:
            yield held[:grouped]
    if rest:
        yield rest
