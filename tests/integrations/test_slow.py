"""A reader that is slow costs itself only, on servers of the SDK and of FastMCP too."""

from __future__ import annotations

import json
import re
import socket
import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import httpx2
from requirement import requirement
from server.reader import ChainReader
from server.wire import URI, envelope
from transport.raw import request

from .site import Kind, Site, site
from .test_subscriptions import listening

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECES = 300
PIECE = "0123456789abcde\n" * 2_048  # 32 KiB
SMALL_PIECES = 4_000
SMALL_PIECE = PIECE[:4_096]


def streams(since: str) -> dict[str, Any]:
    return {"resourceStreams": {URI: {"since": since, "deliver": "delta"}}}


@contextmanager
def listening_without_reading(here: Site, since: str) -> Iterator[socket.socket]:
    """A subscription whose reader takes nothing, not even into a buffer of this process."""
    url = httpx2.URL(here.url)
    params = {"notifications": streams(since), "_meta": envelope()}
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        raw.connect((url.host, url.port))
        raw.sendall(request("subscriptions/listen", params, accept="*/*", host=f"127.0.0.1:{url.port}"))
        raw.setblocking(False)
        yield raw


async def frames_to_the_end(raw: socket.socket) -> list[dict[str, Any]]:
    received = b""
    while b'"result"' not in received[-500:]:
        try:
            received += raw.recv(1 << 20)
        except BlockingIOError:
            await anyio.wait_readable(raw)
    return [json.loads(data) for data in re.findall(rb"data: (\{.*\})\r\n", received)]


@requirement("V4")
async def test_a_reader_that_takes_nothing_holds_up_no_other_and_gets_all_later(kind: Kind) -> None:
    async with site(kind) as here:
        since = here.log.cursor
        with anyio.fail_after(60), listening_without_reading(here, since) as raw:
            async with listening(here, streams(since)) as frame:
                await frame()
                quick = ChainReader("fields", since)
                for _ in range(PIECES):
                    await here.log.append(PIECE)
                    quick.take(await frame())
            await here.log.seal()
            _, *updates, end = await frames_to_the_end(raw)

    slow = ChainReader("fields", since)
    for update in updates:
        slow.take(update)
    assert quick.text == slow.text == PIECE * PIECES
    assert slow.state == "complete"
    assert len(slow.revisions) < PIECES, "every commit was sent by itself"
    assert "result" in end


@requirement("SR-6.4")
async def test_a_reader_that_takes_nothing_costs_no_memory() -> None:
    async with site("Server") as here:
        with anyio.fail_after(60), listening_without_reading(here, here.log.cursor) as raw:
            tracemalloc.start()
            try:
                for _ in range(SMALL_PIECES):
                    await here.log.append(SMALL_PIECE)
                    await anyio.lowlevel.checkpoint()
                held = tracemalloc.get_traced_memory()[0] - SMALL_PIECES * len(SMALL_PIECE)
            finally:
                tracemalloc.stop()
            await here.log.seal()
            end = (await frames_to_the_end(raw))[-1]

    assert "result" in end
    assert held < 8 * 1024 * 1024  # the encoder's cache is 4 MiB of it
