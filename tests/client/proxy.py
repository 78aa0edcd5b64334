"""A TCP proxy that cuts connections, without a word, at a chosen byte of what the server sends."""

from __future__ import annotations

import socket
import struct
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import httpx2
from anyio.abc import SocketAttribute

from .loopback import listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from anyio.abc import SocketStream


@dataclass(frozen=True)
class Cut:
    """Where to cut one connection: `more` bytes past the first `mark` that the server sends."""

    mark: bytes = b""
    more: int = 0

    def at(self, sent: bytes) -> int | None:
        found = sent.find(self.mark)
        if found < 0 or found + len(self.mark) + self.more > len(sent):
            return None
        return found + len(self.mark) + self.more


class CuttingProxy:
    """Takes one cut from `cuts` for each connection; connections after the last are left alone."""

    def __init__(self, upstream: httpx2.URL, cuts: Iterable[Cut]) -> None:
        self.url = ""
        self.cuts = 0
        """Connections cut so far."""
        self.asked = b""
        """Everything that clients sent."""
        self._upstream = upstream
        self._left = iter(cuts)

    async def handle(self, client: SocketStream) -> None:
        cut = next(self._left, None)
        assert self._upstream.port is not None
        async with (
            client,
            await anyio.connect_tcp(self._upstream.host, self._upstream.port) as server,
            anyio.create_task_group() as tasks,
        ):

            async def upwards() -> None:
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    async for data in client:
                        self.asked += data
                        await server.send(data)
                tasks.cancel_scope.cancel()

            tasks.start_soon(upwards)
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._downwards(server, client, cut)
            tasks.cancel_scope.cancel()

    async def _downwards(self, server: SocketStream, client: SocketStream, cut: Cut | None) -> None:
        sent = b""
        if cut == Cut():
            self._reset(client)
            return
        async for data in server:
            before, sent = len(sent), sent + data
            at = None if cut is None else cut.at(sent)
            if at is not None:
                await client.send(sent[before:at])
                self._reset(client)
                return
            await client.send(data)

    def _reset(self, client: SocketStream) -> None:
        self.cuts += 1
        raw = client.extra(SocketAttribute.raw_socket)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close is a reset


@asynccontextmanager
async def cutting(url: str, cuts: Iterable[Cut]) -> AsyncIterator[CuttingProxy]:
    """Gives a proxy in front of `url`; its own URL has the same path."""
    target = httpx2.URL(url)
    proxy = CuttingProxy(target, cuts)
    async with listening(proxy.handle) as port:
        proxy.url = str(target.copy_with(port=port))
        yield proxy
