"""The last official SDK of the older era, unchanged, in a process of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from requirement import requirement
from server.older import until_nobody_streams
from server.wire import URI, WatchedStore, serving

from streamres.client.push import Producer

SCRIPT = Path(__file__).with_name("old_client.py")
SUBSCRIBER = Path(__file__).with_name("old_subscriber.py")


@requirement("SR-10.5")
@requirement("SR-10.1")
async def test_mcp_1_30_connects_lists_reads_and_gets_a_delta_through_meta(old_sdk: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(old_sdk)}
    async with serving() as wire:
        await wire.append("old ")
        since = await wire.cursor()
        await wire.append("and new")

        with anyio.fail_after(30):
            done = await anyio.run_process(
                [sys.executable, str(SCRIPT), wire.url, URI, since], env=environment, check=False
            )

        assert done.returncode == 0, done.stderr.decode()
        head = await wire.cursor()

    said = json.loads(done.stdout)
    assert said["version"] == "2025-11-25"
    assert said["listed"] == [URI]
    assert said["text"] == "old and new"
    assert said["contents"] == 0
    assert said["stream"] == {
        "cursor": head,
        "revision": 2,
        "state": "open",
        "delta": {"from": since, "to": head, "kind": "text", "text": "and new"},
    }


class Subscriber:
    """The program `old_subscriber.py` while it runs."""

    def __init__(self, process: Process) -> None:
        assert process.stdout is not None
        self.process = process
        self._lines = BufferedByteReceiveStream(process.stdout)

    async def says(self) -> Any:  # noqa: ANN401
        return json.loads(await self._lines.receive_until(b"\n", 1 << 20))


@asynccontextmanager
async def subscriber(old_sdk: Path, *arguments: str) -> AsyncIterator[Subscriber]:
    command = [sys.executable, str(SUBSCRIBER), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(old_sdk)}
    with anyio.fail_after(30):
        async with await anyio.open_process(command, env=environment, stdout=PIPE, stderr=None) as process:
            yield Subscriber(process)


async def followed(subscriber: Subscriber, append: Callable[[bytes], Awaitable[object]]) -> dict[str, Any]:
    """What the subscriber says of a text that is written under its eyes; the seal is left to come."""
    assert await subscriber.says() == {"subscribe": True, "listChanged": True}
    await append(b"old ")
    for number in range(20):
        await append(b"line %d\n" % number)
    return {"text": "old " + "".join(f"line {number}\n" for number in range(20)), "proven": True}


@requirement("SR-10.9")
async def test_mcp_1_30_is_pushed_every_change_over_http_and_assembles_all_of_it(old_sdk: Path) -> None:
    store = WatchedStore()
    async with serving(store=store) as wire:
        async with subscriber(old_sdk, "http", wire.url, URI) as client:
            expected = await followed(client, lambda data: store.append(URI, data))
            await wire.seal()
            said = await client.says()
            assert await client.process.wait() == 0
        head = await wire.cursor()
        await store.until_watched_by(0)  # the client ended its session

    updates = said.pop("updates")
    assert said == expected
    assert updates[-1]["state"] == "complete"
    assert updates[-1]["cursor"] == head
    assert len(updates) == len({update["cursor"] for update in updates})


@requirement("SR-10.9")
async def test_mcp_1_30_is_pushed_every_change_over_stdio_and_assembles_all_of_it(
    old_sdk: Path, free_port: int
) -> None:
    # The old SDK on the path is the client's alone: its own child gets no such variable.
    server = [
        sys.executable,
        "-m",
        "streamres",
        "serve",
        "--stdio",
        "--store",
        "memory:",
        "--port",
        str(free_port),
    ]
    async with subscriber(old_sdk, "stdio", URI, *server) as client:
        async with Producer(f"http://127.0.0.1:{free_port}/mcp", URI) as producer:
            expected = await followed(client, producer.append)
            await producer.seal()
        said = await client.says()
        assert await client.process.wait() == 0

    updates = said.pop("updates")
    assert said == expected
    assert updates[-1]["state"] == "complete"


@requirement("SR-10.9")
async def test_of_mcp_1_30_that_is_killed_nothing_stays_but_its_session_until_that_is_idle(old_sdk: Path) -> None:
    store = WatchedStore()
    async with serving(store=store) as wire:
        async with subscriber(old_sdk, "http", wire.url, URI) as client:
            await followed(client, lambda data: store.append(URI, data))
            client.process.kill()
            await client.process.wait()
        await until_nobody_streams(wire)

        assert store.watchers == 1
        assert (await wire.read(None)).status == 200
