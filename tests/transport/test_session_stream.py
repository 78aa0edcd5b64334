"""The GET stream of a session of the older era: what it costs, what ends it, and what it holds up (nothing)."""

from __future__ import annotations

import socket
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager

import anyio
import anyio.lowlevel
import httpx2
import pytest
from requirement import requirement
from server.frames import Frames
from server.older import Older, begun, told, until_nobody_streams
from server.test_slow import chunks
from server.wire import Wire, serving

from streamres import Limits

from .raw import RawConnection, connected
from .test_disconnect import LEAVING

LONG = "build://7/" + "x" * 2_000
"""A URI as long as most servers take: its updates fill every buffer soon."""

COMMITS = 5_000


def get(client: Older) -> bytes:
    headers = {"host": "localhost", "accept": "text/event-stream", **client.headers}
    lines = ["GET /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode()


@requirement("T1")
@pytest.mark.parametrize("leave", LEAVING.values(), ids=LEAVING)
async def test_a_peer_that_leaves_ends_its_stream_and_its_session_is_told_on_the_next(
    leave: Callable[[RawConnection], Awaitable[None]],
) -> None:
    async with serving() as wire:
        client = await begun(wire)
        await client.subscribe()
        async with connected(wire.url) as connection:
            await connection.send(get(client))
            await wire.append("a")
            await connection.until(b"updated")
            await leave(connection)
            await until_nobody_streams(wire)
        await wire.append("b")
        async with client.stream() as frames:
            assert told(await frames.take())[1]["revision"] == 2


@requirement("T2")
async def test_a_quiet_stream_is_pinged() -> None:
    async with serving(Limits(ping_s=0.05)) as wire:
        client = await begun(wire)
        await client.subscribe()
        async with client.stream() as frames:
            with anyio.fail_after(5):
                raw = await anext(frames.response.aiter_raw())

    assert raw.startswith(b":\n\n")


@contextmanager
def streaming_without_reading(client: Older) -> Iterator[socket.socket]:
    """A stream whose reader takes nothing, not even into a buffer of this process."""
    url = httpx2.URL(client.wire.url)
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        raw.connect((url.host, url.port))
        raw.sendall(get(client))
        raw.setblocking(False)
        yield raw


async def commit(wire: Wire, times: int) -> None:
    """Commits to the long resource, and lets every stream write what it can after each."""
    for _ in range(times):
        await wire.append("x", uri=LONG)
        await anyio.lowlevel.checkpoint()


async def until_told_of_the_end(raw: socket.socket) -> tuple[int, str]:
    """How many updates came, and the state that the last one told."""
    body: AsyncIterator[bytes] = chunks(raw)
    frames, count, state = Frames(body), 0, "open"
    while state == "open":
        count, state = count + 1, told(await frames.take())[1]["state"]
    return count, state


@requirement("V4")
@requirement("T3")
@requirement("SR-6.4")
async def test_a_reader_that_takes_nothing_costs_no_memory_holds_up_no_other_and_is_told_the_end() -> None:
    async with serving() as wire:
        await wire.server.create(LONG)
        (dispatcher,) = wire.server._dispatchers
        slow, other = await begun(wire), await begun(wire)
        await slow.subscribe(LONG)
        await other.subscribe(LONG)
        with anyio.fail_after(20), streaming_without_reading(slow) as raw:
            tracemalloc.start()
            try:
                await commit(wire, COMMITS)
                held = tracemalloc.get_traced_memory()[0]
            finally:
                tracemalloc.stop()
            async with other.stream() as frames:
                await frames.take()
                assert dispatcher.subscriptions.behind, "nobody would wait for it at the end"
                for number in range(COMMITS + 1, COMMITS + 100):
                    await wire.append("x", uri=LONG)
                    assert told(await frames.take())[1]["revision"] == number
            await wire.server.store.append(LONG, b"", seal="complete")
            count, state = await until_told_of_the_end(raw)
            while dispatcher.subscriptions.behind:
                await anyio.lowlevel.checkpoint()

    assert state == "complete"
    assert count < COMMITS, "every commit was sent by itself"
    assert held < 4 * 1024 * 1024


@requirement("SR-10.9")
async def test_a_stream_that_is_stuck_gives_way_to_a_newer_one_at_once() -> None:
    async with serving() as wire:
        await wire.server.create(LONG)
        client = await begun(wire)
        await client.subscribe(LONG)
        with streaming_without_reading(client):
            await commit(wire, COMMITS)
            async with client.stream() as frames:
                first = told(await frames.take())
                await wire.append("y", uri=LONG)
                second = told(await frames.take())

    assert (first[1]["revision"], second[1]["revision"]) == (COMMITS, COMMITS + 1)


async def test_a_request_on_the_connection_after_a_session_ended_is_served() -> None:
    async with serving() as wire, connected(wire.url) as connection:
        client = await begun(wire)
        delete = get(client).replace(b"GET", b"DELETE")
        statuses = [await _status(connection, request) for request in (delete, delete, get(client))]

    assert statuses == [200, 404, 404]


async def _status(connection: RawConnection, request: bytes) -> int:
    await connection.send(request)
    return (await connection.response()).status


async def test_a_session_header_that_comes_twice_is_refused() -> None:
    async with serving() as wire, connected(wire.url) as connection:
        client = await begun(wire)
        twice = get(client).replace(b"accept:", b"mcp-session-id: other\r\naccept:")

        assert await _status(connection, twice) == 400
