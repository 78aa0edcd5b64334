"""`follow` through a network that cuts at any byte: every piece once, the whole exact, no end without a seal."""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING

import anyio
import pytest
from requirement import requirement
from server.wire import URI, serving

from streamres import Client

from .proxy import Cut, cutting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from server.wire import Wire

    from client.proxy import CuttingProxy
    from streamres import ConnectionLost, Update

PIECES = [f"{n}: é😀\u2028 \x1b[1m{'x' * (n % 7) * 40}\r\n" for n in range(120)]


async def produce_as_it_is_read(wire: Wire, updates: AsyncIterator[Update]) -> list[Update]:
    """Appends one more piece whenever the reader has been handed something, then seals."""
    pieces = iter(PIECES)
    await wire.append(next(pieces), next(pieces))
    seen: list[Update] = []
    async for update in updates:
        seen.append(update)
        piece = next(pieces, None)
        if piece is not None:
            await wire.append(piece)
        elif not update.sealed and (await wire.server.store.entry(URI)).head.state == "open":
            await wire.seal()
    return seen


def requests_seen(proxy: CuttingProxy) -> list[dict[str, object]]:
    """The JSON bodies that passed the proxy."""
    bodies = [b'{"jsonrpc"' + part.partition(b"POST /mcp")[0] for part in proxy.asked.split(b'{"jsonrpc"')[1:]]
    return [json.loads(body) for body in bodies]


def with_progress(cuts: Iterable[Cut]) -> list[Cut]:
    """Lets a few pages through between any two cuts."""
    return list(chain.from_iterable((cut, Cut(more=5_000)) for cut in cuts))


CUTS = {
    "at every part of an answer": [Cut(more=more) for more in range(0, 1_100, 53)],
    "inside a frame": [Cut(b'"delta":{', more) for more in range(0, 120, 6)],
    "before a frame": [
        *(Cut(b"text/event-stream", more) for more in range(0, 80, 12)),
        *(Cut(b"acknowledged", more) for more in range(0, 80, 12)),
        *(Cut(b"resources/updated", more) for more in range(300, 340, 6)),
        *(Cut(b"\n\n\r\n", -more) for more in range(5)),
    ],
}


@requirement("C1")
@requirement("C2")
@requirement("C3")
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
async def test_the_text_is_exact_and_nothing_is_handed_over_twice(cuts: list[Cut]) -> None:
    faults: list[float] = []

    def note(exc: ConnectionLost, wait_s: float) -> None:
        faults.append(wait_s)

    async with serving() as wire, cutting(wire.url, with_progress(cuts)) as proxy, Client(proxy.url) as client:
        with anyio.fail_after(30):
            seen = await produce_as_it_is_read(wire, client.follow(URI, page_bytes=400, on_fault=note))

    text = "".join(update.text for update in seen)
    assert sha256(text.encode()).digest() == sha256("".join(PIECES).encode()).digest()
    assert proxy.cuts >= 20
    assert len(faults) >= 20
    assert sum(len(update.text) for update in seen) == len("".join(PIECES))
    assert not [update for update in seen if update.reset is not None]
    assert [update.since for update in seen[1:]] == [update.cursor for update in seen[:-1]]
    assert len({update.cursor for update in seen}) == len(seen)
    assert [update.sealed for update in seen] == [False] * (len(seen) - 1) + [True]


@requirement("C2")
@requirement("SR-6.1")
async def test_every_request_after_the_first_piece_asks_since_the_cursor_that_was_handed_over() -> None:
    cuts = with_progress([Cut(b'"delta":{', 9)] * 10)
    async with serving() as wire, cutting(wire.url, cuts) as proxy, Client(proxy.url) as client:
        with anyio.fail_after(20):
            seen = await produce_as_it_is_read(wire, client.follow(URI, page_bytes=400))

    cursors = [update.cursor for update in seen]
    asked = []
    for request in requests_seen(proxy):
        params = request["params"]
        streams = params.get("notifications", {}).get("resourceStreams", {URI: params})
        asked.append(streams[URI].get("since"))
    positions = [cursors.index(since) for since in asked if since is not None]
    assert asked[0] is None
    assert None not in asked[2:], "the text was asked for from its beginning again"
    assert positions == sorted(positions)


@requirement("C4")
async def test_a_cut_for_good_is_never_an_end() -> None:
    faults: list[str] = []
    three_faults = anyio.Event()

    def note(exc: ConnectionLost, wait_s: float) -> None:
        faults.append(str(exc))
        if len(faults) == 3:
            three_faults.set()

    ended = False
    async with (
        serving() as wire,
        cutting(wire.url, [Cut()] * 1_000) as proxy,
        Client(proxy.url) as client,
        anyio.create_task_group() as tasks,
    ):

        async def follow() -> None:
            nonlocal ended
            async for _ in client.follow(URI, on_fault=note):
                pass
            ended = True

        tasks.start_soon(follow)
        with anyio.fail_after(5):
            await three_faults.wait()
        tasks.cancel_scope.cancel()

    assert not ended


@requirement("C4")
@requirement("SR-6.2")
async def test_a_seal_that_was_missed_during_a_cut_is_found_after_it() -> None:
    cut_seen = anyio.Event()
    texts: list[str] = []

    async with (
        serving() as wire,
        cutting(wire.url, [Cut(b"acknowledged", 20)]) as proxy,
        Client(proxy.url) as client,
    ):
        await wire.append("before ")
        async with anyio.create_task_group() as tasks:

            async def follow() -> None:
                updates = client.follow(URI, on_fault=lambda exc, wait_s: cut_seen.set())
                texts.extend([update.text async for update in updates])

            tasks.start_soon(follow)
            with anyio.fail_after(5):
                await cut_seen.wait()
            await wire.seal(text="and after")

    assert texts == ["before ", "and after"]
