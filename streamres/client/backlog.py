"""What a producer was given and has not delivered: the bytes as they came, and the appends cut from them.

    delivered | numbered: sent with these very bytes until acknowledged | not numbered yet: may be dropped |
              first pending                                             numbered_to                          end

All offsets count the bytes that were given since the beginning.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamres.model import Seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """One append: its number, the bytes that it is made of, and what stands before them in a text."""

    seq: int
    begin: int
    end: int
    notice: str = ""
    dropped: int = 0
    seal: Seal | None = None


class MemoryBacklog:
    """A backlog that ends with the process."""

    limit_name = "buffer_bytes"
    resumed = False

    def __init__(self, producer: str, limit: int) -> None:
        self.producer = producer
        """The producer's id."""
        self.limit = limit
        """The most bytes that are to be held undelivered."""
        self.epoch = self.next_seq = self.numbered_to = self.end = 0
        self.pending: Numbered | None = None
        """The append that is not acknowledged."""
        self._raw = bytearray()  # from numbered_to on
        self._pending_raw = b""

    @property
    def seal(self) -> Seal | None:
        """The seal, where it was numbered."""
        return None if self.pending is None else self.pending.seal

    @property
    def waiting(self) -> int:
        """Bytes that are not delivered."""
        return len(self._raw) + len(self._pending_raw)

    @property
    def retained(self) -> list[Numbered]:
        """The appends that can be sent again, acknowledged or not."""
        return [] if self.pending is None else [self.pending]

    def add(self, data: bytes) -> None:
        """Takes bytes."""
        self._raw += data
        self.end += len(data)

    def take_from(self, fd: int, most: int) -> int:
        """Takes up to `most` bytes that a file has; gives how many, 0 at its end."""
        data = os.read(fd, most)
        self.add(data)
        return len(data)

    def unnumbered(self, most: int) -> bytes:
        """Gives the first bytes that are not numbered."""
        return bytes(self._raw[:most])

    def raw(self, append: Numbered) -> bytes:  # noqa: ARG002
        """Gives the bytes that an append is made of."""
        return self._pending_raw

    async def number(self, end: int, *, notice: str = "", dropped: int = 0, seal: Seal | None = None) -> None:
        """Makes the next append of all up to `end`; once it returns, a restart makes the very same."""
        begin = self.numbered_to
        self._pending_raw = bytes(self._raw[: end - begin])
        self.skip(end - begin)
        self.pending = Numbered(seq=self.next_seq, begin=begin, end=end, notice=notice, dropped=dropped, seal=seal)
        self.next_seq += 1

    def skip(self, size: int) -> None:
        """Passes over bytes that are not numbered: blank ones, or those that are dropped."""
        del self._raw[:size]
        self.numbered_to += size

    def delivered(self) -> None:
        """Notes that the pending append was acknowledged."""
        self.pending, self._pending_raw = None, b""

    def take_back(self) -> None:
        """Forgets the pending append, which was refused, and uses its number again."""
        self.next_seq -= 1
        self.delivered()

    async def begin_at(self, epoch: int, seq: int) -> None:
        """Goes on in an epoch, of which the numbers below `seq` are acknowledged."""
        self.epoch = epoch
        self.next_seq = seq if self.pending is None else seq + 1

    async def keep(self) -> None:
        """Has no disk to bring anything to."""

    def close(self, *, finished: bool) -> None:
        """Leaves nothing behind."""
