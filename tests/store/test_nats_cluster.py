"""`kill -9` of servers of NATS and of streamres under load: all that was acknowledged is there, once.

`STREAMRES_KILLS=200 pytest tests/store/test_nats_cluster.py` kills servers of streamres more often.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from contextlib import AsyncExitStack, contextmanager
from itertools import count
from typing import TYPE_CHECKING

import anyio
import httpx2
import nats
import pytest
from requirement import requirement

from streamres import Client
from streamres.model import Append, decode_cursor
from streamres.store.nats import NatsStore

from . import nats_server
from .scene import URI, content, described, head_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.model import Position

KILLS = int(os.environ.get("STREAMRES_KILLS", "2"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[nats_server.NatsServer]]:
    with nats_server.cluster() as servers:
        yield servers


async def leader_of(address: str) -> int:
    """Which server of the cluster leads the stream."""
    servers, _, name = address.rpartition("/")
    async with await nats.connect(servers.split(",")) as client:
        info = await client.jetstream().stream_info(name)
    assert info.cluster is not None
    assert info.cluster.leader is not None
    assert info.config.num_replicas == 3
    return int(info.cluster.leader.removeprefix("n"))


@requirement("S1")
@requirement("SR-4.2.a")
async def test_a_server_of_nats_that_is_killed_takes_nothing_with_it(
    cluster: list[nats_server.NatsServer],
) -> None:
    address = f"{nats_server.address(cluster)}/killed"
    acknowledged: list[dict[bytes, int]] = [{}, {}, {}]
    positions: list[Position] = []
    enough = anyio.Event()

    async def write(store: NatsStore, index: int, seen: dict[bytes, int]) -> None:
        """Appends without numbers, so that a second attempt of the store's own would be a double."""
        while not enough.is_set():
            data = b"%d-%d\n" % (index, len(seen))
            head = await store.append(URI, data)
            seen[data] = head.position.revision
            positions.append(head.position)

    async def until(least: int) -> None:
        while min(map(len, acknowledged)) < least:
            await anyio.sleep(0.01)

    with anyio.fail_after(60):
        async with AsyncExitStack() as stack:
            stores = [await stack.enter_async_context(NatsStore.open(address, patience_s=40)) for _ in range(3)]
            await stores[0].create(described(URI))
            async with anyio.create_task_group() as tasks:
                for index, store in enumerate(stores):
                    tasks.start_soon(write, store, index, acknowledged[index])
                await until(50)
                killed = cluster[await leader_of(address)]
                killed.kill()
                await until(min(map(len, acknowledged)) + 50)
                enough.set()
            killed.start()

            made = {data: revision for seen in acknowledged for data, revision in seen.items()}
            lines = (await content(stores[0])).splitlines(keepends=True)
            assert len(lines) == len(made), "missing or doubled"
            assert [made[line] for line in lines] == list(range(1, len(lines) + 1))
            async with NatsStore.open(address) as fresh:
                whole = await content(fresh)
                assert whole == b"".join(lines)
                for position in random.Random(1).sample(positions, 20):
                    delta = await fresh.read(URI, position)
                    assert isinstance(delta.step, Append)
                    assert text_of(delta) == whole[position.length :]
                assert await head_of(fresh) == await head_of(stores[0])
    killed.wait_until_ready()


@contextmanager
def replica(address: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of streamres, and its origin; it is killed at the end."""
    command = [sys.executable, "-m", "streamres", "serve", "--port", "0", "--store", address]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.search(r"at (http://\S+)/mcp", line)
            assert found is not None, line
            yield process, found[1]
        finally:
            process.kill()


@requirement("S1")
@requirement("SR-4.2")
@requirement("SR-9.1")
async def test_replicas_that_are_killed_take_nothing_with_them(cluster: list[nats_server.NatsServer]) -> None:
    address = f"{nats_server.address(cluster)}/replicas"
    rng = random.Random(2)
    made: list[list[bytes]] = [[], [], []]
    cursors: list[str] = []
    origins: list[str] = []
    enough = 0
    ended = False
    news = anyio.Condition()

    async def push(http: httpx2.AsyncClient, data: bytes, **params: str | int) -> None:
        """Sends one append to one replica after another until one says that it has it."""
        for turn in count(rng.randint(0, 1)):
            try:
                answer = await http.post(
                    f"{origins[turn % 2]}/upload", params={"uri": URI, **params}, content=data, timeout=30
                )
            except (httpx2.ConnectError, httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
                await anyio.sleep(0.01)  # the next may be starting
                continue
            if answer.status_code == 200:
                cursors.append(answer.json()["cursor"])
                return
            assert answer.status_code == 503, answer.text

    async def produce(http: httpx2.AsyncClient, name: int) -> None:
        appends = made[name]
        while True:
            async with news:
                while len(cursors) >= enough and not ended:
                    await news.wait()
            if ended:
                break
            data = f"{name} {len(appends)} é😀\n".encode() * rng.choice([1, 20, 400])
            await push(http, data, producer=name, epoch=1, seq=len(appends))
            async with news:
                appends.append(data)
                news.notify_all()

    with anyio.fail_after(60 + 10 * KILLS):
        async with AsyncExitStack() as stack:
            processes = [stack.enter_context(replica(address)) for _ in range(2)]
            origins.extend(origin for _, origin in processes)
            http = await stack.enter_async_context(httpx2.AsyncClient())
            async with anyio.create_task_group() as tasks:
                for name in range(3):
                    tasks.start_soon(produce, http, name)
                for turn in range(KILLS):
                    target = len(cursors) + rng.randint(1, 60)
                    async with news:
                        enough = target + 60  # appends are under way when it is killed, and while it is away
                        news.notify_all()
                        while len(cursors) < target:
                            await news.wait()
                    processes[turn % 2][0].kill()
                    started = await anyio.to_thread.run_sync(lambda: stack.enter_context(replica(address)))
                    processes[turn % 2], origins[turn % 2] = started, started[1]
                async with news:
                    ended = True
                    news.notify_all()
            await push(http, b"", seal="complete", producer=0, epoch=1, seq=len(made[0]))

            for origin in origins:
                async with Client(f"{origin}/mcp") as client:
                    last = [update async for update in client.follow(URI)][-1]  # proves the digest
                    assert last.state == "complete"
                    whole = (await client.read(URI)).data
                    for name, appends in enumerate(made):
                        lines = [
                            line for line in whole.splitlines(keepends=True) if line.startswith(b"%d " % name)
                        ]
                        assert b"".join(lines) == b"".join(appends), "missing, doubled, or not in order"
                    assert len(whole) == sum(len(data) for appends in made for data in appends)
                    for cursor in rng.sample(cursors, min(20, len(cursors))):
                        delta = await client.read(URI, cursor)
                        assert delta.since == cursor
                        assert delta.data == whole[decode_cursor(cursor, URI).length :]
