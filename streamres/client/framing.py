"""Cuts what a producer is given into appends: whole code points of a text, any bytes of a blob, a patch a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamres.model import Utf8Decoder

if TYPE_CHECKING:
    from streamres.model import Kind


@dataclass(frozen=True, slots=True)
class Cut:
    """One append: how many bytes of the source go into it, and what is sent for them."""

    taken: int
    data: bytes
    replaced: int = 0
    """Bytes that were not UTF-8 and are sent as U+FFFD."""


def cut(kind: Kind, raw: bytes, *, final: bool = False) -> Cut:
    """Gives the first append of what the source gave; what it leaves belongs to the next, or waits for more.

    The same bytes are always cut the same way, and what was cut off, cut again, is itself: so an append can be
    made anew after a restart. With `final` nothing is left that more could complete.
    """
    match kind:
        case "blob":
            return Cut(len(raw), raw)
        case "text":
            decoder = Utf8Decoder()
            data = decoder.decode(raw, final=final)
            return Cut(len(raw) - decoder.held_bytes, data, decoder.replaced)
        case "json":
            return _line(raw, final=final)


def _line(raw: bytes, *, final: bool) -> Cut:
    """The first line that is not blank; one that holds an operation alone is a patch too."""
    begin = 0
    while begin < len(raw):
        end = raw.find(b"\n", begin) + 1
        if not end and not final:
            break
        end = end or len(raw)
        if patch := raw[begin:end].strip():
            return Cut(end, b"[" + patch + b"]" if patch.startswith(b"{") else patch)
        begin = end
    return Cut(begin, b"")
