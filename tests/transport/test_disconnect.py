"""T1: a peer that is gone cancels its request, also where nothing is being sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from requirement import requirement
from server.wire import URI, WatchedStore, envelope, placed, serving

from streamres import Limits, Server

from .raw import RawConnection, connected, request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from server.wire import Wire

    Leave = Callable[[RawConnection], Awaitable[None]]


CORE = {"notifications": {"resourceStreams": {URI: {"deliver": "delta"}}}, "_meta": envelope()}
LISTEN = request("subscriptions/listen", CORE)


async def listen(wire: Wire) -> bytes:
    return LISTEN


async def wait(wire: Wire) -> bytes:
    params = placed("fields", {"uri": URI, "_meta": envelope()}, {"since": await wire.cursor(), "waitMs": 30_000})
    return request("resources/read", params)


async def close(connection: RawConnection) -> None:
    await connection.stream.aclose()


async def abort(connection: RawConnection) -> None:
    connection.cut()


async def send_no_more(connection: RawConnection) -> None:
    await connection.stream.send_eof()


ASKED = {"a quiet subscription": listen, "a waiting read": wait}
LEAVING = {"closes": close, "aborts": abort, "ends its side": send_no_more}


@requirement("T1")
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("leave", LEAVING.values(), ids=LEAVING)
async def test_a_peer_that_leaves_ends_what_it_asked_for(
    ask: Callable[[Wire], Awaitable[bytes]], leave: Leave
) -> None:
    store = WatchedStore()
    async with serving(store=store) as wire, connected(wire.url) as connection:
        await connection.send(await ask(wire))
        await store.until_watched_by(1)

        await leave(connection)

        await store.until_watched_by(0)
        assert (await wire.read(None)).status == 200


@requirement("T1")
async def test_of_many_peers_only_the_one_that_leaves_is_ended() -> None:
    store = WatchedStore()
    async with serving(store=store) as wire, connected(wire.url) as staying, connected(wire.url) as leaving:
        for connection in (staying, leaving):
            await connection.send(LISTEN)
            await connection.until(b"acknowledged")
        leaving.cut()
        await store.until_watched_by(1)

        await wire.append("news")

        assert b"news" in await staying.until(b"news")


@requirement("T1")
async def test_a_hundred_peers_that_come_and_go_leave_nothing_behind() -> None:
    store = WatchedStore()
    async with serving(store=store) as wire:
        for _ in range(5):
            async with anyio.create_task_group() as tasks:

                async def visit() -> None:
                    async with connected(wire.url) as connection:
                        await connection.send(LISTEN)
                        await connection.until(b"acknowledged")
                        connection.cut()

                for _ in range(20):
                    tasks.start_soon(visit)
            await store.until_watched_by(0)

        assert store.watchers == 0


class Exchange:
    """One ASGI request under the test's own hand: what is received, what is sent, when the peer goes."""

    def __init__(self, raw: bytes) -> None:
        head, _, self._body = raw.partition(b"\r\n\r\n")
        headers = [tuple(line.split(b": ", 1)) for line in head.split(b"\r\n")[1:]]
        self.scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "query_string": b""}
        self.gone = anyio.Event()
        self.sent: list[dict[str, Any]] = []
        self._told = anyio.Event()
        self._asked = False

    async def receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        self._told.set()
        self._told = anyio.Event()

    async def until(self, count: int) -> None:
        with anyio.fail_after(5):
            while len(self.sent) < count:
                await self._told.wait()


@requirement("T1")
async def test_after_the_peer_has_gone_nothing_more_is_sent() -> None:
    server = Server("tested", store=(store := WatchedStore()))
    resource = await server.create(URI)
    exchange = Exchange(LISTEN)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.asgi(), exchange.scope, exchange.receive, exchange.send)
        await exchange.until(2)
        exchange.gone.set()
        await store.until_watched_by(0)
        await resource.append("too late")

    assert [message["type"] for message in exchange.sent] == ["http.response.start", "http.response.body"]
    assert exchange.sent[-1]["more_body"] is True


@requirement("T1")
async def test_a_peer_that_goes_while_a_frame_is_stuck_ends_the_subscription() -> None:
    class Stuck(Exchange):
        async def send(self, message: dict[str, Any]) -> None:
            await super().send(message)
            if len(self.sent) > 2:
                await anyio.sleep_forever()

    server = Server("tested", store=(store := WatchedStore()), limits=Limits(ping_s=60))
    resource = await server.create(URI)
    exchange = Stuck(LISTEN)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.asgi(), exchange.scope, exchange.receive, exchange.send)
        await exchange.until(2)
        await resource.append("stuck")
        await exchange.until(3)
        exchange.gone.set()
        await store.until_watched_by(0)

    assert len(exchange.sent) == 3
