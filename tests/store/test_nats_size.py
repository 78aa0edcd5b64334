"""What takes more than one message, and many messages that become one."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import anyio
import nats
import pytest
from requirement import requirement

from streamres.model import Append, Description, Kind, Patch
from streamres.store.nats import NatsStore
from streamres.store.nats.address import Address
from streamres.store.nats.messages import PartsRef
from streamres.store.nats.parts import KEPT_S, Parts, encode_part

from . import nats_server
from .scene import OTHER, URI, content, described, head_of, number, text_of, uris

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

LARGE = "é😀\n".encode() * 40_000
"""More than four messages of the server below."""

_names = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[nats_server.NatsServer]:
    with nats_server.single("max_payload: 64KB\n") as server:
        yield server


@pytest.fixture
async def address(server: nats_server.NatsServer) -> AsyncIterator[str]:
    name = f"large-{next(_names)}"
    yield f"nats://{server.url}/{name}"
    async with await nats.connect(f"nats://{server.url}") as client:
        await client.jetstream().delete_stream(name)


async def messages(address: str, subject: str) -> int:
    """How many messages of a subject are in the stream."""
    servers, _, name = address.rpartition("/")
    async with await nats.connect(servers) as client:
        info = await client.jetstream().stream_info(name, subjects_filter=subject)
    return sum((info.state.subjects or {}).values())


async def until_at_most(most: int, address: str, subject: str) -> None:
    while await messages(address, subject) > most:
        await anyio.sleep(0.005)


@requirement("S1")
@requirement("SR-2.4")
async def test_what_is_larger_than_a_message_is_one_revision_for_everyone(address: str) -> None:
    async with NatsStore.open(address) as one, NatsStore.open(address) as two:
        with two.watch([URI]) as watch, anyio.fail_after(20):
            first = await one.append(URI, LARGE, number=number(0), create=described(URI))
            second = await one.append(URI, LARGE, number=number(1), seal=None)
            third = await one.replace(URI, LARGE)
            last = await one.append(URI, LARGE, seal="complete")
            while watch.take() != {URI: last}:
                await watch.wait()

        assert [h.position.revision for h in (first, second, third, last)] == [1, 2, 0, 1]
        async with NatsStore.open(address) as fresh:
            for store in (one, two, fresh):
                assert await content(store) == LARGE * 2
                assert await head_of(store) == last
                assert await store.append(URI, LARGE, number=number(1)) == second


@requirement("S1")
async def test_large_appends_of_the_same_bytes_at_once_are_as_many_as_they_are(address: str) -> None:
    async with NatsStore.open(address) as one:
        await one.create(described(URI))
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(one.append, URI, LARGE)

        async with NatsStore.open(address) as fresh:
            assert await content(fresh) == await content(one) == LARGE * 4
            assert (await head_of(fresh)).position.revision == 4


@requirement("S1")
async def test_large_and_small_appends_through_two_servers_at_once_are_each_made_once(address: str) -> None:
    async with NatsStore.open(address) as one, NatsStore.open(address) as two:
        await one.create(described(URI))
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:

                async def write(store: NatsStore, data: bytes, times: int) -> None:
                    for _ in range(times):
                        await store.append(URI, data)

                tasks.start_soon(write, one, b"L" * 300_000, 4)
                tasks.start_soon(write, two, b"s\n", 100)
                tasks.start_soon(write, two, b"M" * 100_000, 4)

        whole = await content(one)
        assert [whole.count(byte) for byte in (b"L", b"M", b"s\n")] == [1_200_000, 400_000, 100]
        async with NatsStore.open(address) as fresh:
            assert await content(fresh) == whole


@requirement("S5")
async def test_the_parts_of_a_writer_that_died_are_nothing(address: str) -> None:
    servers, _, _ = address.rpartition("/")
    where = Address.parse(address)
    async with NatsStore.open(address, roll_up_bytes=1_000) as one:
        await one.append(URI, LARGE, create=described(URI))
        async with await nats.connect(servers) as client:
            await client.jetstream().publish(where.parts_subject(URI), encode_part("d" * 32, 0, LARGE[:30_000]))
        head = await one.append(URI, LARGE)

        async with NatsStore.open(address) as fresh:
            for store in (one, fresh):
                assert await content(store) == LARGE * 2
                assert await head_of(store) == head


DOCUMENT = Description(uri=URI, name="state", kind="json", mime_type="application/json")


@requirement("SR-3.5")
@requirement("SR-4.2.b")
@pytest.mark.parametrize("size", [10, 10_000], ids=["in one message", "in parts"])
@pytest.mark.parametrize("kind", ["text", "blob", "json"])
async def test_many_messages_become_one_and_a_new_server_knows_all_of_it(
    address: str, kind: Kind, size: int
) -> None:
    where = Address.parse(address)
    subject, parts = where.subject(URI), where.parts_subject(URI)

    def data(count: int) -> bytes:
        if kind == "json":
            operation = {"op": "replace", "path": "/text", "value": "x" * size * 10}
            return json.dumps([operation, {"op": "add", "path": "/n", "value": count}]).encode()
        return b"%d" % count + b"x" * size

    async with NatsStore.open(address, roll_up_bytes=1_000_000_000) as one, NatsStore.open(address) as two:
        await one.create(
            Description(uri=URI, name="r", kind=kind), b'{"text":"","n":0}' if kind == "json" else b""
        )
        await one.create(described(OTHER))
        with anyio.fail_after(20):
            heads = [await one.append(URI, data(count), number=number(count)) for count in range(30)]
            before = await content(one)
            for _ in range(2):
                await one.replace(URI, before)
            floor = [await one.append(URI, data(count), number=number(count)) for count in range(30, 34)]
            assert await messages(address, subject) >= 30
            await one.compact(URI, 2)
            await until_at_most(1, address, subject)
            whole = await content(one)
            async with NatsStore.open(address) as fresh:
                for store in (one, two, fresh):
                    assert await content(store) == whole
                    assert await head_of(store) == floor[-1]
                    assert await uris(store) == [URI, OTHER]
                    assert (await store.read(URI, heads[-1].position)).reset == "epoch"
                    assert (await store.read(URI, floor[0].position)).reset == "expired"
                    step = (await store.read(URI, floor[2].position)).step
                    assert isinstance(step, Patch if kind == "json" else Append)
                    assert await store.append(URI, data(33), number=number(33)) == floor[-1]
                    assert await store.append(URI, data(3), number=number(3)) == heads[3]
                assert await messages(address, parts) <= len(whole) * 3 // 40_000 + 4
                last = await fresh.append(URI, data(34), number=number(34), seal="complete")
                assert last.digest is not None
                for store in (one, two):
                    with store.watch([URI]) as watch:
                        while await head_of(store) != last:
                            await watch.wait()
                            watch.take()
                    delta = await store.read(URI, floor[-1].position)
                    assert delta.reset is None
                    if kind != "json":
                        assert text_of(delta) == data(34)


@requirement("SR-3.5")
async def test_messages_are_rolled_up_by_themselves_where_they_take_much_more_than_what_they_say(
    address: str,
) -> None:
    subject = Address.parse(address).subject(URI)
    async with NatsStore.open(address, roll_up_bytes=20_000) as one, NatsStore.open(address) as two:
        with anyio.fail_after(20):
            for count in range(500):
                await one.append(URI, b"%d\n" % count, create=described(URI))
            assert await messages(address, subject) < 150
        expected = b"".join(b"%d\n" % count for count in range(500))
        assert await content(one) == expected
        await two.append(URI, b"end")
        async with NatsStore.open(address) as fresh:
            assert await content(fresh) == await content(two) == expected + b"end"


def test_parts_without_a_message_are_dropped_by_the_time_of_the_stream() -> None:
    parts = Parts()
    dead, late, whole = (letter * 32 for letter in "abc")
    for id_, at in ((dead, 0.0), (late, 1.0), (whole, 2.0)):
        parts.add("s", int(at) + 1, at, encode_part(id_, 1, b"second"))
        parts.add("s", int(at) + 1, at, encode_part(id_, 0, b"first "))

    assert parts.oldest("s") == 1
    assert parts.take(PartsRef(whole, 2), KEPT_S + 0.5) == b"first second"
    assert parts.oldest("s") == 2
    assert parts.take(PartsRef(late, 2), KEPT_S + 1.5) is None
    assert parts.take(PartsRef(dead, 1), KEPT_S + 1.5) is None
    assert len(parts) == 0
