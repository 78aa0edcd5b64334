"""V4, SR-6.4: what a slow reader costs is one position a resource, whatever is committed meanwhile."""

from __future__ import annotations

import socket
import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import httpx2
from requirement import requirement

from .frames import Frames
from .reader import ChainReader
from .wire import envelope, headers_for, message, moved, placed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from .wire import Binding, Wire

PIECES = 4_000
PIECE = "0123456789abcde\n" * 256  # 4 KiB


@requirement("SR-6.2")
@requirement("SR-6.4")
async def test_commits_in_one_go_are_one_notification(wire: Wire, binding: Binding) -> None:
    async with wire.listen(binding, {wire.uri: {}}) as frames:
        await frames.take()
        await wire.append(*["x"] * 1_000)
        update = moved(binding, await frames.take())
        await wire.seal()
        last = moved(binding, await frames.take())
        end = await frames.take()

    assert (update["revision"], update["state"]) == (1_000, "open")
    assert (last["revision"], last["state"]) == (1_001, "complete")
    assert "result" in end


@requirement("SR-6.2")
@requirement("SR-6.4")
async def test_commits_and_the_seal_in_one_go_are_one_notification_that_seals(
    wire: Wire, binding: Binding
) -> None:
    async with wire.listen(binding, {wire.uri: {}}) as frames:
        await frames.take()
        await wire.append(*["x"] * 1_000)
        await wire.seal("aborted")
        update, end = await frames.rest()

    assert (moved(binding, update)["revision"], moved(binding, update)["state"]) == (1_001, "aborted")
    assert "digest" in moved(binding, update)
    assert "result" in end


@contextmanager
def listening_without_reading(wire: Wire, binding: Binding, since: str) -> Iterator[socket.socket]:
    """A subscription whose reader takes nothing, not even into a buffer of this process."""
    url = httpx2.URL(wire.url)
    core = {"notifications": {}, "_meta": envelope()}
    params = placed(binding, core, {"resourceStreams": {wire.uri: {"since": since, "deliver": "delta"}}})
    body = message("subscriptions/listen", params)
    headers = {
        **headers_for("subscriptions/listen", params),
        "host": "localhost",
        "content-length": str(len(body)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        raw.connect((url.host, url.port))
        raw.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        raw.setblocking(False)
        yield raw


async def received(raw: socket.socket) -> bytes:
    while True:
        try:
            return raw.recv(65_536)
        except BlockingIOError:
            await anyio.wait_readable(raw)


async def chunks(raw: socket.socket) -> AsyncIterator[bytes]:
    """The body of a chunked HTTP response."""
    buffer = b""
    while b"\r\n\r\n" not in buffer:
        buffer += await received(raw)
    buffer = buffer.partition(b"\r\n\r\n")[2]
    while True:
        while b"\r\n" not in buffer:
            buffer += await received(raw)
        size_line, _, buffer = buffer.partition(b"\r\n")
        size = int(size_line, 16)
        while len(buffer) < size + 2:
            buffer += await received(raw)
        if size == 0:
            return
        yield buffer[:size]
        buffer = buffer[size + 2 :]


@requirement("V4")
@requirement("T3")
@requirement("SR-6.4")
async def test_a_reader_that_takes_nothing_costs_no_memory_and_gets_all_of_it_later(
    wire: Wire, binding: Binding
) -> None:
    since = await wire.cursor()
    with anyio.fail_after(20):
        with listening_without_reading(wire, binding, since) as raw:
            await wire.append(PIECE)
            tracemalloc.start()
            try:
                for _ in range(PIECES):
                    await wire.append(PIECE)
                    await anyio.lowlevel.checkpoint()
                held = tracemalloc.get_traced_memory()[0] - PIECES * len(PIECE)
            finally:
                tracemalloc.stop()
            await wire.seal()

            frames = Frames(chunks(raw))
            await frames.take()
            reader = ChainReader(binding, since)
            await reader.until_sealed(frames)
            end = await frames.take()

    assert reader.text == PIECE * (PIECES + 1)
    assert "result" in end
    assert len(reader.revisions) < PIECES / 2, "every commit was sent by itself"
    assert held < 8 * 1024 * 1024  # the encoder's cache is 4 MiB of it


@requirement("V4")
async def test_a_reader_that_takes_nothing_holds_up_no_other(wire: Wire, binding: Binding) -> None:
    since = await wire.cursor()
    with anyio.fail_after(20):
        streams = {wire.uri: {"since": since, "deliver": "delta"}}
        with listening_without_reading(wire, binding, since):
            async with wire.listen(binding, streams) as frames:
                await frames.take()
                reader = ChainReader(binding, since)
                for _ in range(PIECES // 4):
                    await wire.append(PIECE)
                    reader.take(await frames.take())

        answer = await wire.read(binding, since=reader.cursor)

    assert reader.text == PIECE * (PIECES // 4)
    assert answer.stream(binding)["delta"]["text"] == ""
