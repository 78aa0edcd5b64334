"""A server's life: how many connections it takes, and that it ends in order however its context is left."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack, suppress

import anyio
import pytest
from requirement import requirement
from server.wire import URI, WatchedStore, envelope, http_client, serving

from streamres import Limits, Server
from streamres.transport import bind, origin_of

from .raw import PING, RawConnection, connected, request

LISTEN = request("subscriptions/listen", {"notifications": {"resourceStreams": {URI: {}}}, "_meta": envelope()})


async def ping(connection: RawConnection) -> int:
    await connection.send(PING)
    return int((await connection.until(b"\r\n\r\n")).split()[1])


@requirement("SR-12.3")
async def test_as_many_connections_as_the_limit_says_are_served_and_a_further_one_is_refused() -> None:
    async with serving(Limits(connections=3)) as wire, AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(connected(wire.url)) for _ in range(4)]

        statuses = [await ping(connection) for connection in connections]

    assert statuses == [200, 200, 200, 503]


@requirement("SR-12.3")
async def test_idle_connections_up_to_the_limit_do_not_shut_out_the_one_that_is_served() -> None:
    async with serving(Limits(connections=2)) as wire, AsyncExitStack() as stack:
        first = await stack.enter_async_context(connected(wire.url))
        assert await ping(first) == 200
        for _ in range(3):
            await stack.enter_async_context(connected(wire.url))
        await anyio.wait_all_tasks_blocked()

        assert await ping(first) == 200


async def answers(url: str) -> bool:
    """Says whether anybody serves at the address."""
    try:
        async with connected(url) as connection:
            return await ping(connection) == 200
    except (OSError, anyio.EndOfStream):
        return False


async def test_the_end_of_the_context_frees_the_port_and_ends_streams_and_waits() -> None:
    store = WatchedStore()
    server = Server("tested", store=store)
    await server.create(URI)
    async with AsyncExitStack() as stack:
        async with server.serve(port=0) as url:
            listening = await stack.enter_async_context(connected(url))
            await listening.send(LISTEN)
            await listening.until(b"acknowledged")
        end = await listening.until(b"\r\n0\r\n\r\n")

        assert b'"resultType":"complete"' in end
        assert await listening.is_closed()
    assert store.watchers == 0
    assert not await answers(url)
    with bind("127.0.0.1", int(url.split(":")[2].split("/")[0])):
        pass  # the port is free


class Broken(Exception):
    pass


def close_by_hand(sock: socket.socket) -> None:
    """Closes a listener that was left behind, so that one failed test is not several."""
    if sock.fileno() >= 0:
        asyncio.get_running_loop().remove_reader(sock)
        sock.close()


@pytest.mark.parametrize("how", ["by an exception", "by cancellation"])
async def test_a_context_that_is_left_early_ends_the_server_in_order_too(how: str) -> None:
    store = WatchedStore()
    server = Server("tested", store=store)
    await server.create(URI)
    sock = bind("127.0.0.1", 0)
    async with AsyncExitStack() as stack:
        stack.callback(server.close)
        stack.callback(close_by_hand, sock)
        listening = await stack.enter_async_context(connected(origin_of(sock)))
        with anyio.CancelScope() as scope, suppress(Broken, ExceptionGroup):
            async with server.serve(sock=sock) as url:
                await listening.send(LISTEN)
                await listening.until(b"acknowledged")
                if how == "by cancellation":
                    scope.cancel()
                    await anyio.sleep_forever()
                raise Broken

        assert not await answers(url), "somebody still listens"
        assert b'"resultType":"complete"' in await listening.until(b"\r\n0\r\n\r\n")
    await store.until_watched_by(0)


async def test_an_exception_in_the_context_comes_out_as_it_is() -> None:
    sock = bind("127.0.0.1", 0)
    try:
        with pytest.raises(Broken):
            async with Server("tested").serve(sock=sock):
                raise Broken
    finally:
        close_by_hand(sock)


async def hears_of_a_commit(server: Server, connection: RawConnection) -> bool:
    """Says whether a subscription that was acknowledged is still alive."""
    await server.store.append(URI, b"a")
    try:
        return b'"revision":1' in await connection.until(b"\n\n\r\n")
    except (anyio.EndOfStream, TimeoutError):
        return False


async def test_a_server_can_be_served_again_after_its_end() -> None:
    server = Server("tested")
    await server.create(URI)
    async with server.serve(port=0):
        pass
    async with server.serve(port=0) as url, connected(url) as connection:
        await connection.send(LISTEN)
        await connection.until(b"\n\n\r\n")
        alive = await hears_of_a_commit(server, connection)

    assert alive


async def test_one_of_two_addresses_can_be_left_without_ending_the_other() -> None:
    server = Server("tested")
    await server.create(URI)
    async with server.serve(port=0) as url, connected(url) as connection:
        await connection.send(LISTEN)
        await connection.until(b"\n\n\r\n")
        async with server.serve(port=0):
            pass
        alive = await hears_of_a_commit(server, connection)

    assert alive


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
async def test_the_url_leads_to_the_server(host: str) -> None:
    async with Server("tested").serve(host, port=0) as url, http_client() as http:
        response = await http.get(url)

    assert response.status_code == 405


async def test_an_address_in_use_is_an_os_error() -> None:
    async with Server("one").serve(port=0) as url:
        port = int(url.split(":")[2].split("/")[0])
        with pytest.raises(OSError, match="in use"):
            async with Server("two").serve(port=port):
                pass


async def test_a_socket_that_listens_already_is_used_and_closed() -> None:
    sock = bind("127.0.0.1", 0)
    async with Server("tested").serve(sock=sock) as url:
        assert await answers(url)

    assert sock.fileno() == -1
