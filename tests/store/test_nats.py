"""What only the store over NATS shows: one stream, any number of servers, all of them the same."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio
import pytest
from requirement import requirement

from streamres import Client, Server
from streamres.errors import ResourceExists, RevisionConflict
from streamres.limits import Limits
from streamres.model import Description

from .nats_work import Work, opened, told, until_same
from .scene import OTHER, URI, content, described, head_of, number, uris

if TYPE_CHECKING:
    from streamres.model import Head
    from streamres.store import Store


@requirement("S1")
@requirement("SR-4.2.a")
@requirement("SR-4.2.b")
@pytest.mark.parametrize("roll_up_bytes", [1_000, 1_000_000], ids=["rolled up often", "not rolled up"])
async def test_servers_that_write_at_random_end_equal_and_so_does_a_new_one(
    address: str, roll_up_bytes: int
) -> None:
    with anyio.fail_after(30):
        async with opened(address, 3, roll_up_bytes=roll_up_bytes) as stores:
            work = Work(7)

            async def write(index: int) -> None:
                for _ in range(150):
                    await work.step(stores[index], f"p{index}")

            async with anyio.create_task_group() as tasks:
                for index in range(3):
                    tasks.start_soon(write, index)

            await until_same(stores)
            said = [await told(store, work.positions) for store in stores]
            assert said[0] == said[1] == said[2]
            async with opened(address, 1) as (fresh,):
                assert await told(fresh, work.positions) == said[0]
            assert len(work.positions) == 9


@requirement("S1")
@requirement("SR-9.2")
async def test_of_writers_on_two_servers_that_demand_the_same_revision_one_succeeds(address: str) -> None:
    async with opened(address, 2) as stores:
        await stores[0].create(described(URI))
        for revision in range(20):
            outcomes: list[Head | str] = []

            async def write(store: Store, demanded: int, outcomes: list[Head | str]) -> None:
                try:
                    outcomes.append(await store.append(URI, b"x", expected_revision=demanded))
                except RevisionConflict as exc:
                    outcomes.append(f"conflict: it is at {exc.actual}")

            async with anyio.create_task_group() as tasks:
                for store in stores:
                    tasks.start_soon(write, store, revision, outcomes)

            assert f"conflict: it is at {revision + 1}" in outcomes
            assert len([outcome for outcome in outcomes if not isinstance(outcome, str)]) == 1
        assert await content(stores[0]) == b"x" * 20


@requirement("S1")
@requirement("SR-9.1")
async def test_a_number_that_is_sent_to_every_server_at_once_is_appended_once(address: str) -> None:
    heads: list[Head] = []
    async with opened(address, 3) as stores:

        async def send(store: Store, seq: int) -> None:
            heads.append(await store.append(URI, b"%d\n" % seq, number=number(seq), create=described(URI)))

        for seq in range(20):
            async with anyio.create_task_group() as tasks:
                for store in stores:
                    tasks.start_soon(send, store, seq)

        assert [head.position.revision for head in heads] == [seq for seq in range(1, 21) for _ in stores]
        assert await content(stores[0]) == b"".join(b"%d\n" % seq for seq in range(20))


@requirement("SR-4.2.a")
@requirement("SR-5.5")
async def test_whichever_server_is_asked_a_reader_is_exact_and_no_append_is_forgotten(address: str) -> None:
    with anyio.fail_after(30):
        async with opened(address, 3) as stores, AsyncExitStack() as stack:
            clients = []
            for store in stores:
                url = await stack.enter_async_context(Server("replica", store=store).serve(port=0, upload=True))
                clients.append(await stack.enter_async_context(Client(url)))
            await stores[0].create(described(URI))
            whole, text, cursor = b"", b"", (await clients[0].read(URI)).cursor
            for turn in range(50):
                data = f"{turn} é😀\n".encode()
                await stores[turn % 3].append(URI, data, expected_revision=turn)
                whole += data
                update = await clients[(turn + 1) % 3].read(URI, cursor)
                assert (update.reset, update.since) == (None, cursor)
                text, cursor = text + (update.text or "").encode(), update.cursor
                assert whole.startswith(text)
            await stores[1].append(URI, b"", seal="complete")
            while update.state == "open":
                update = await clients[2].read(URI, cursor, wait_ms=1_000)
                assert (update.reset, update.since) == (None, cursor)
                text, cursor = text + (update.text or "").encode(), update.cursor
            assert text == whole


@requirement("S3")
async def test_a_watcher_on_one_server_is_told_of_what_another_takes(address: str) -> None:
    with anyio.fail_after(10):
        async with opened(address, 2) as (one, two):
            with two.watch([URI], list_changed=True) as watch:
                created = await one.create(described(URI))
                while watch.take() != {URI: created}:
                    await watch.wait()
                assert watch.take_list_changed()
                head = await one.append(URI, b"a")
                await watch.wait()
                assert watch.take() == {URI: head}


@requirement("M3")
async def test_a_server_that_is_behind_asks_before_it_makes_or_misses_a_resource(address: str) -> None:
    async with opened(address, 2) as (one, two):
        await one.create(described(URI))

        with pytest.raises(ResourceExists):
            await two.create(described(URI))
        head = await one.append(URI, b"a", number=number(0))
        standing = await two.producer(URI, "p")
        assert standing is not None
        assert standing.next_seq == 1
        await one.create(described(OTHER))
        assert (await two.entry(OTHER)).head.position.revision == 0
        assert await head_of(two) == head


@requirement("SR-2.4")
@pytest.mark.parametrize("uri", ["a:b", "a:" + "x" * 2_046, "build://7/a.b*c%3Ed?e=%20#%C3%A9"])
async def test_every_uri_has_a_place_of_its_own(address: str, uri: str) -> None:
    async with opened(address, 2) as (one, two):
        await one.create(described(uri))
        await one.create(described(uri[:-1] + "_"))
        head = await one.append(uri, b"a")
        await until_same([one, two])
        assert await head_of(two, uri) == head
        assert await uris(two) == [uri, uri[:-1] + "_"]


@requirement("SR-12.3")
async def test_what_one_server_took_another_with_lower_limits_serves(address: str) -> None:
    what = Description(uri=URI, name="state", kind="json", mime_type="application/json")
    async with opened(address, 1) as (one,):
        await one.create(what, b"[]")
        async with opened(address, 1, limits=Limits(json_bytes=100, producers=0, patch_ops=1)) as (low,):
            patch = json.dumps([{"op": "add", "path": "/-", "value": "x" * 100}] * 3).encode()
            await one.append(URI, patch, number=number(0))
            await until_same([one, low])
            assert await content(low) == await content(one)
