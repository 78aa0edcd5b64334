"""The link between reader and server: it counts, and it does to the bytes what a fault does. It knows no carrier.

Dropped, held back or doubled are whole messages: events of streams, or whole answers. Cut is a message in the
middle.
"""

from __future__ import annotations

import socket
import struct
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, Literal

import anyio
import anyio.lowlevel
import httptools
from anyio.abc import SocketAttribute, SocketStream

from streamres.compare.answers import Answers, Part
from streamres.compare.meter import Meter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Arm = Literal["drop", "hold", "double", "cut"]
"""What is done to the next message."""

_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)
_RESET: Final = struct.pack("ii", 1, 0)


class Proxy:
    """Carries connections to the server at `target`, and refuses them while there is none."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.meter = Meter()
        self.target: int | None = None
        """The port of the server that new connections go to."""
        self.armed: Arm | None = None
        """What is done to the next message; it is disarmed by it."""
        self._links: set[_Link] = set()

    def cut(self) -> None:
        """Cuts every connection without a word."""
        for link in list(self._links):
            link.reset()

    async def release(self) -> None:
        """Lets go what is held back."""
        for link in list(self._links):
            await link.release()

    async def carry(self, reader: SocketStream) -> None:
        """Carries one connection."""
        if self.target is None:
            await _reset(reader)
            return
        self.meter.connections += 1
        try:
            server = await anyio.connect_tcp("127.0.0.1", self.target)
        except OSError:
            await _reset(reader)
            return
        async with reader, server:
            link = _Link(self, reader, server)
            self._links.add(link)
            try:
                await link.run()
            finally:
                self._links.discard(link)


class _Link:
    """One connection of a reader and its connection to the server."""

    def __init__(self, proxy: Proxy, reader: SocketStream, server: SocketStream) -> None:
        self._proxy = proxy
        self._meter = proxy.meter
        self._reader = reader
        self._server = server
        self._held: Part | None = None
        self._scope = anyio.CancelScope()
        self._requests = httptools.HttpRequestParser(self)

    def on_message_complete(self) -> None:
        """Counts a request; httptools calls it."""
        self._meter.requests += 1

    async def run(self) -> None:
        with self._scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._up)
                with suppress(*_GONE):
                    await self._down()
                self.reset()

    def reset(self) -> None:
        for stream in (self._reader, self._server):
            with suppress(OSError):
                raw = stream.extra(SocketAttribute.raw_socket)
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._scope.cancel()

    async def release(self) -> None:
        if (held := self._held) is not None:
            self._held = None
            await self._pass_on(held)

    async def _up(self) -> None:
        with suppress(*_GONE):
            async for data in self._reader:
                self._meter.bytes_up += len(data)
                self._requests.feed_data(data)
                await self._server.send(data)
        self._scope.cancel()

    async def _down(self) -> None:
        answers = Answers()
        async for data in self._server:
            for part in answers.feed(data):
                await self._take(part)

    async def _take(self, part: Part) -> None:
        if part.kind not in ("event", "body"):
            await self._pass_on(part)
            return
        arm, self._proxy.armed = self._proxy.armed, None
        match arm, part.kind:
            case "drop", "event":
                return
            case "drop", _:
                self.reset()  # an answer that does not come is a connection that ends
                await anyio.lowlevel.checkpoint()
            case "hold", _:
                self._held = part
                return
            case "double", "event":
                await self._pass_on(part)
            case "cut", _:
                await self._pass_on(Part(part.data[: len(part.data) // 2], "rest"))
                self._proxy.cut()
                await anyio.lowlevel.checkpoint()
        await self._pass_on(part)
        await self.release()

    async def _pass_on(self, part: Part) -> None:
        if part.kind != "end":  # a reader that has its result may be gone before it
            self._meter.bytes_down += len(part.data)
        self._meter.messages += part.kind in ("event", "body")
        with suppress(*_GONE):
            await self._reader.send(part.data)


async def _reset(stream: SocketStream) -> None:
    stream.extra(SocketAttribute.raw_socket).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    await stream.aclose()


@asynccontextmanager
async def proxying(path: str) -> AsyncIterator[Proxy]:
    """Gives a proxy on a free port, which has no server yet; `path` is that of its URL."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    proxy = Proxy(f"http://127.0.0.1:{port}{path}")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, proxy.carry)
        yield proxy
        tasks.cancel_scope.cancel()
