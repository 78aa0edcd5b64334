"""Cuts what a producer was given into appends, and sends them one after another until the seal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio

from streamres.client.backlog import MemoryBacklog
from streamres.client.framing import cut
from streamres.errors import StreamresError

if TYPE_CHECKING:
    from streamres.client.delivery import Backlog, Delivery
    from streamres.model import Kind, Seal

APPEND_BYTES: Final = 1024 * 1024
"""What was given meanwhile goes in one append, up to so much."""

_KEEP_S: Final = 0.1
"""Seconds in which what a spool was given goes onto the disk together."""


class Sending:
    """The way of one backlog to the server."""

    def __init__(self, backlog: Backlog, delivery: Delivery, *, kind: Kind, takes_over: bool) -> None:
        self._backlog = backlog
        self._delivery = delivery
        self._kind = kind
        self._takes_over = takes_over
        self.seal: Seal | None = backlog.seal
        """What it was told to end with, in a process before this one too."""
        self.finished = False
        """Whether the seal was acknowledged."""
        self.idle = False
        """Whether nothing can be sent before more is given."""
        self._failure: StreamresError | None = None
        self._news = anyio.Event()
        self._unsaid_dropped = 0

    def go_on(self) -> None:
        """Hears that there is more to send."""
        self.idle = False
        self._tell()

    def end(self, seal: Seal) -> None:
        """Hears that nothing follows."""
        self.seal = seal
        self.go_on()

    def left_out(self, size: int) -> None:
        """Hears of bytes that were left out, which the next append says."""
        self._unsaid_dropped += size

    async def until_news(self) -> None:
        """Returns when anything has changed here."""
        await self._news.wait()

    async def until_sent(self) -> None:
        """Returns when all that can be sent was acknowledged; raises what was refused."""
        while self._failure is not None or not self.finished:
            self.raise_failure()
            if self.idle:
                return
            await self._news.wait()

    def raise_failure(self) -> None:
        """Raises what went wrong; of a backlog in memory once, of a spool to everyone who calls."""
        if (failure := self._failure) is not None:
            if isinstance(self._backlog, MemoryBacklog):
                self._failure = None  # what was refused is forgotten, and what follows may be taken
                self._tell()
            raise failure

    async def run(self) -> None:
        """Sends what there is, until the seal; a failure waits for whoever calls next."""
        # Who takes over does so with its first append: until then the older one goes on.
        while self._takes_over and self._backlog.end == 0 and self.seal is None:
            self.idle = True
            self._tell()
            await self._news.wait()
        while not self.finished:
            try:
                if not self._delivery.begun:
                    await self._delivery.begin()
                await self._send_all()
            except StreamresError as exc:
                self._failure = exc
                if self._backlog.pending is not None:
                    self._backlog.take_back()
                self._tell()
                while self._failure is not None:
                    await self._news.wait()

    async def _send_all(self) -> None:
        backlog = self._backlog
        while True:
            if (append := backlog.pending) is not None:
                await self._delivery.send(append)
                self.finished = append.seal is not None and backlog.pending is None
            elif backlog.seal is not None:
                self.finished = True  # in a process before this one
            elif not await self._number():
                self.idle = True
            self._tell()
            if self.finished:
                return
            while self.idle:
                await self._news.wait()

    async def _number(self) -> bool:
        """Makes the next append of what is there; says whether there was anything."""
        backlog = self._backlog
        left = backlog.end - backlog.numbered_to
        piece = cut(self._kind, backlog.unnumbered(APPEND_BYTES))
        if not piece.taken and left > APPEND_BYTES:
            piece = cut(self._kind, backlog.unnumbered(left))
        if not piece.taken and self.seal is not None and self._kind == "json":
            piece = cut(self._kind, backlog.unnumbered(left), final=True)
        if piece.taken and not piece.data:
            backlog.skip(piece.taken)
            return True
        if piece.taken:
            await backlog.number(backlog.numbered_to + piece.taken, **self._notice())
            return True
        if self.seal is not None:
            await backlog.number(backlog.end, seal=self.seal, **self._notice())
            return True
        return False

    def _notice(self) -> dict[str, Any]:
        """What the next append says of that which was left out before it."""
        dropped, self._unsaid_dropped = self._unsaid_dropped, 0
        if not dropped or self._kind != "text":
            return {"dropped": dropped}
        line_end = "" if self._delivery.at_line_start else "\n"
        return {"dropped": dropped, "notice": f"{line_end}[streamres: {dropped} bytes were dropped here]\n"}

    async def keep(self) -> None:
        """Brings what a spool was given onto the disk, over and over."""
        while True:
            try:
                await self._backlog.keep()
            except StreamresError as exc:
                self._failure = exc
                self._tell()
                return
            await anyio.sleep(_KEEP_S)
            await self._news.wait()

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()
