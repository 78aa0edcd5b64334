"""Lines out of bytes, as the stdio transport frames its messages: LF ends a line, and nothing else does.

Never `splitlines()`: U+2028 and U+0085 stand raw in JSON. What follows the last LF is no line (P5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class LineSplitter:
    """Gives each line of a stream once, however the bytes are cut (P1), and holds at most one (P3)."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._begun = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """Gives the lines that end in `data`, without LF; None, once, for one that is longer than the limit.

        Of such a line nothing is kept, and it is told as soon as it is too long.
        """
        *ended, rest = data.split(b"\n")
        for piece in ended:
            if self._overflows(piece):
                yield None
            elif not self._skipping:
                yield bytes(self._begun)
            self._begun.clear()
            self._skipping = False
        if self._overflows(rest):
            yield None

    def _overflows(self, piece: bytes) -> bool:
        if self._skipping:
            return False
        if len(self._begun) + len(piece) > self._max_bytes:
            self._begun.clear()
            self._skipping = True
            return True
        self._begun += piece
        return False
