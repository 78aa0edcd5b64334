"""The patches of one epoch, as the bytes of their operations: each with a comma after it."""

from __future__ import annotations


class Operations:
    """The operations from some offset on; what is before it is forgotten."""

    __slots__ = ("_begin", "_bytes")

    def __init__(self) -> None:
        self._begin = 0
        self._bytes = bytearray()

    @property
    def length(self) -> int:
        """Bytes since the epoch began."""
        return self._begin + len(self._bytes)

    def append(self, data: bytes) -> None:
        """Adds operations."""
        self._bytes += data

    def between(self, begin: int, end: int) -> bytes:
        """Gives the bytes between two offsets that are not forgotten."""
        return bytes(self._bytes[begin - self._begin : end - self._begin])

    def forget(self, length: int) -> None:
        """Drops what is before the offset `length`."""
        del self._bytes[: length - self._begin]
        self._begin = length

    def begun(self) -> Operations:
        """Gives those of a new epoch, none yet."""
        return Operations()
