"""How much a producer holds undelivered, and what is done where that is more than its limit (SR-12.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import anyio

from streamres.errors import LimitExceeded

if TYPE_CHECKING:
    from streamres.client.delivery import Backlog
    from streamres.client.sending import Sending
    from streamres.model import Kind

OnFull = Literal["block", "drop-oldest", "fail"]
"""What is done where no more can be held: wait for room, leave out the oldest that was not sent, or end."""

_DROP_PARTS: Final = 16
"""A part of the limit is dropped at once, so that the log does not say it again and again."""

_LINE_BYTES: Final = 4096
"""How far the end of a line is looked for, to drop whole ones."""


class Room:
    """The room in one backlog."""

    def __init__(self, backlog: Backlog, sending: Sending, *, kind: Kind, on_full: OnFull) -> None:
        self._backlog = backlog
        self._sending = sending
        self._kind = kind
        self._on_full = on_full
        self.dropped_bytes = 0
        """Bytes that were left out."""
        self.blocked_s = 0.0
        """Seconds for which somebody had to wait."""

    async def have(self, size: int) -> None:
        """Waits or makes room for so many bytes; more than the limit has room where nothing else is held."""
        backlog, sending = self._backlog, self._sending
        began = anyio.current_time()
        while True:
            sending.raise_failure()
            excess = backlog.waiting + size - backlog.limit
            if excess <= 0 or backlog.waiting == 0:
                break
            if self._on_full == "fail":
                raise LimitExceeded(
                    backlog.limit_name, backlog.limit, "the server is behind; allow more, or block"
                )
            if self._on_full == "drop-oldest" and backlog.end > backlog.numbered_to:
                self._drop(excess)
                continue
            if sending.idle:
                raise LimitExceeded(backlog.limit_name, backlog.limit, "write shorter patches, one a line")
            try:
                await sending.until_news()
            finally:
                self.blocked_s += anyio.current_time() - began
                began = anyio.current_time()

    def _drop(self, excess: int) -> None:
        """Leaves out the oldest that has no number yet: of a text whole lines, where they are not too long."""
        backlog = self._backlog
        size = max(excess, backlog.limit // _DROP_PARTS)
        if self._kind == "text":
            raw = backlog.unnumbered(size + _LINE_BYTES)
            size = raw.find(b"\n", size - 1) + 1 or size
            while size < len(raw) and raw[size] & 0xC0 == 0x80:
                size += 1
        size = min(size, backlog.end - backlog.numbered_to)
        backlog.skip(size)
        self.dropped_bytes += size
        self._sending.left_out(size)
