"""Content that only grows, held once in blocks with prefix sums: bytes, or text as UTF-8.

Nothing here joins the whole: a range is walked in slices. A range stays readable, with the same bytes, while
the content grows, so a reader may keep a range and walk it as slowly as it likes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self, get_args

from streamres.errors import DeltaError
from streamres.model.digest import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["text", "blob", "json"]

KINDS: tuple[Kind, ...] = get_args(Kind)

BLOCK_BYTES: Final = 64 * 1024
"""Small appends are gathered into blocks of this size; it is also the longest slice of a walk."""

_MAX_CODE_POINT_BYTES: Final = 4


class BlobContent:
    """The bytes of one epoch of a blob; a read can begin and end anywhere."""

    __slots__ = ("_blocks", "_ends", "_hash", "_tail", "length")

    kind: ClassVar[Kind] = "blob"

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._ends = array("Q")
        self._tail = bytearray()
        self._hash = sha256()
        self.length = 0
        """Bytes in all."""

    def append(self, data: bytes) -> None:
        """Adds `data` at the end; a large piece is kept as it is, without a copy.

        Raises:
            DeltaError: for a text, `data` is not UTF-8 of whole code points (M5); nothing has changed.
        """
        self._check(data)
        self._hash.update(data)
        if len(data) >= BLOCK_BYTES:
            self._close_tail()
            self._add_block(data)
        else:
            self._tail += data
            if len(self._tail) >= BLOCK_BYTES:
                self._close_tail()
        self.length += len(data)

    def replaced(self, data: bytes) -> Self:
        """Gives other content of the same kind, which begins with `data`; raises as `append`."""
        content = type(self)()
        content.append(data)
        return content

    def digest(self) -> str:
        """Gives the digest of all the content (SR-3.4)."""
        return digest_of(self._hash)

    def digest_after(self, data: bytes) -> str:
        """Gives the digest that the content has once `data` is appended."""
        self.digest()  # where content is kept elsewhere, this is what hashes it
        sha = self._hash.copy()
        sha.update(data)
        return digest_of(sha)

    def slices(self, begin: int, end: int) -> Iterator[bytes]:
        """Walks the bytes from `begin` to `end` in slices of at most `BLOCK_BYTES` that end at boundaries.

        `begin` and `end` are boundaries.
        """
        while begin < end:
            whole = end - begin <= BLOCK_BYTES
            stop = end if whole else self.boundary_before(begin + BLOCK_BYTES, after=begin)
            piece = self._slice(begin, stop)
            begin += len(piece)
            yield piece

    @staticmethod
    def _check(data: bytes) -> None:
        """Refuses what cannot be appended; bytes always can."""

    def is_boundary(self, offset: int) -> bool:  # noqa: ARG002
        """Says whether a read can begin or end at `offset`."""
        return True

    def boundary_before(self, offset: int, *, after: int) -> int:
        """Gives the last boundary up to `offset`, or the first past `after` where there is none between."""
        return max(offset, after + 1)

    def line_start(self, offset: int) -> int:
        """Gives the first line start from `offset` on with content behind it, else the boundary up to `offset`."""
        if offset <= 0:
            return 0
        at = offset - 1
        while at < self.length:
            piece = self._slice(at, min(self.length, at + BLOCK_BYTES))
            if (found := piece.find(b"\n")) >= 0:
                at += found + 1
                break
            at += len(piece)
        if at < self.length:
            return at
        while not self.is_boundary(offset):
            offset -= 1
        return offset

    def _slice(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` up to `end`, or up to the end of the block that holds `begin`."""
        index = bisect_right(self._ends, begin)
        if index == len(self._blocks):
            base = self._ends[-1] if self._ends else 0
            return bytes(self._tail[begin - base : end - base])
        base = self._ends[index] - len(self._blocks[index])
        return self._blocks[index][begin - base : end - base]

    def _close_tail(self) -> None:
        if self._tail:
            self._add_block(bytes(self._tail))
            self._tail = bytearray()

    def _add_block(self, block: bytes) -> None:
        self._blocks.append(block)
        self._ends.append((self._ends[-1] if self._ends else 0) + len(block))


class TextContent(BlobContent):
    """The UTF-8 of one epoch of a text: what is appended, and what is read, is whole code points (M5)."""

    __slots__ = ()

    kind: ClassVar[Kind] = "text"

    @staticmethod
    def _check(data: bytes) -> None:
        if data.isascii():
            return
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as exc:
            raise DeltaError(f"not UTF-8 of whole code points: {exc.reason} at byte {exc.start}") from exc

    def is_boundary(self, offset: int) -> bool:
        """Says whether a code point starts, or the text ends, at `offset`."""
        return offset == self.length or self._slice(offset, offset + 1)[0] & 0xC0 != 0x80

    def boundary_before(self, offset: int, *, after: int) -> int:
        """Gives the last code point boundary up to `offset`, or the first past `after` where there is none."""
        for candidate in range(offset, max(after, offset - _MAX_CODE_POINT_BYTES), -1):
            if self.is_boundary(candidate):
                return candidate
        offset = after + 1
        while not self.is_boundary(offset):
            offset += 1
        return offset
