"""The other end of a stdio server in this process: raw lines to it, raw frames from it, over real descriptors."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
from server.wire import URI, envelope, message

from streamres import Limits, Server
from streamres.server import Dispatcher
from streamres.transport import StdioPeer

Channel = Literal["pipe", "socket"]


class Talk:
    """What a client does: writes lines, reads frames, ends its own stream or goes."""

    def __init__(self, server: Server, to: int, of: int) -> None:
        self.server = server
        self._to, self._of = to, of
        self._heard = bytearray()
        self.ended = anyio.Event()

    async def say(self, data: bytes) -> None:
        rest = memoryview(data)
        with anyio.fail_after(10):
            while rest:
                await anyio.wait_writable(self._to)
                rest = rest[os.write(self._to, rest[:4096]) :]

    async def ask(self, method: str, params: Mapping[str, Any] | None = None, *, request_id: object = 1) -> None:
        await self.say(
            message(method, {**(params or {}), "_meta": envelope("fields")}, request_id=request_id) + b"\n"
        )

    async def read(self, uri: str = URI, *, request_id: object = 1, **members: object) -> None:
        await self.ask("resources/read", {"uri": uri, **members}, request_id=request_id)

    async def listen(self, *, request_id: object, **notifications: object) -> None:
        filters = notifications or {"resourceStreams": {URI: {"deliver": "delta"}}}
        await self.ask("subscriptions/listen", {"notifications": filters}, request_id=request_id)

    async def cancel(self, request_id: object) -> None:
        params = {"requestId": request_id}
        await self.say(
            json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).encode() + b"\n"
        )

    async def line(self) -> bytes:
        """The next line; empty at the end."""
        with anyio.fail_after(10):
            begin = 0
            while (end := self._heard.find(b"\n", begin)) < 0:
                begin = len(self._heard)
                await anyio.wait_readable(self._of)
                if not (data := os.read(self._of, 1 << 20)):
                    assert not self._heard, "cut inside a frame"
                    return b""
                self._heard += data
        line = bytes(self._heard[:end])
        del self._heard[: end + 1]
        return line

    async def until_something_comes(self) -> None:
        with anyio.fail_after(10):
            await anyio.wait_readable(self._of)

    async def hear(self) -> dict[str, Any]:
        frame = json.loads(await self.line())
        assert frame["jsonrpc"] == "2.0"
        return frame

    async def hear_nothing_more(self) -> None:
        """Asks for something else, and hears that and nothing before it."""
        await self.say(b'{"jsonrpc":"2.0","id":"still there?","method":"ping"}\n')
        assert await self.hear() == {"jsonrpc": "2.0", "id": "still there?", "result": {}}

    def stop_asking(self) -> None:
        os.close(self._to)
        self._to = -1

    def stop_listening(self) -> None:
        os.close(self._of)
        self._of = -1

    async def until_ended(self) -> None:
        with anyio.fail_after(10):
            await self.ended.wait()

    def close(self) -> None:
        for fd in (self._to, self._of):
            if fd >= 0:
                os.close(fd)


def _opened(channel: Channel) -> tuple[int, int, int, int]:
    if channel == "pipe":
        return (*os.pipe(), *os.pipe())
    (theirs, to), (of, ours) = socket.socketpair(), socket.socketpair()
    return theirs.detach(), to.detach(), of.detach(), ours.detach()


@asynccontextmanager
async def talking(
    channel: Channel = "pipe",
    *,
    server: Server | None = None,
    limits: Limits | None = None,
    about: tuple[str, str] = ("tested", "1"),
) -> AsyncIterator[Talk]:
    """A server, with an empty resource at `URI` if it has none, and a client of it."""
    server = server or Server("tested", limits=limits)
    if not await server.store.list(limit=1):
        await server.create(URI, name="log")
    source, to, of, sink = _opened(channel)
    dispatcher = Dispatcher(server.store, server.limits, name=about[0], version=about[1])
    talk = Talk(server, to, of)

    async def serve() -> None:
        await StdioPeer(dispatcher, server.limits, source, sink).serve()
        os.close(source)
        os.close(sink)
        talk.ended.set()

    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        try:
            yield talk
        except Exception as exc:  # a test that fails reads as itself
            failure = exc
        talk.close()
    if failure is not None:
        raise failure
