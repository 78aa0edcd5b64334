"""Removal over NATS: every server hears of it, one message of it stays, and what follows is another resource."""

from __future__ import annotations

from dataclasses import replace

import anyio
import nats
import pytest
from requirement import requirement

from streamres.errors import ResourceNotFound
from streamres.model import Description, Position
from streamres.store.nats import NatsStore, messages
from streamres.store.nats.address import Address
from streamres.store.nats.parts import encode_part

from .scene import OTHER, URI, content, described, head_of, number, uris
from .test_nats_loss import until_same as until_at_one

LARGE = b"x" * 900_000
"""More than goes into one message."""


async def kept(address: str, uri: str = URI) -> tuple[int, int]:
    """How many messages, and how many parts of messages, the stream has of a resource."""
    servers, _, name = address.rpartition("/")
    where = Address.parse(address)
    async with await nats.connect(servers) as client:
        info = await client.jetstream().stream_info(name, subjects_filter=">")
    subjects = info.state.subjects or {}
    return subjects.get(where.subject(uri), 0), subjects.get(where.parts_subject(uri), 0)


async def until_gone(store: NatsStore, uri: str = URI) -> None:
    with store.watch([], list_changed=True) as watch:
        while uri in await uris(store):
            await watch.wait()
            watch.take_list_changed()


@requirement("SR-4.2.a")
@requirement("SR-4.2.b")
async def test_every_server_and_a_new_one_know_that_it_is_gone_and_one_message_says_so(address: str) -> None:
    with anyio.fail_after(30):
        async with NatsStore.open(address) as one, NatsStore.open(address) as two:
            for seq in range(10):
                await one.append(URI, b"x", number=number(seq), create=described(URI))
            await one.append(URI, LARGE)
            await one.create(described(OTHER), LARGE)
            messages_before, parts_before = await kept(address)
            assert messages_before >= 11
            assert parts_before >= 2

            with two.watch([URI], list_changed=True) as watch:
                await one.remove(URI)
                while not watch.take_list_changed():
                    await watch.wait()
                    watch.take()
                await until_gone(two)

            async with NatsStore.open(address) as fresh:
                for store in (one, two, fresh):
                    with pytest.raises(ResourceNotFound):
                        await store.read(URI)
                    with pytest.raises(ResourceNotFound):
                        await store.append(URI, b"x", number=number(10))
                    assert await uris(store) == [OTHER]
                    assert await content(store, OTHER) == LARGE
            assert await kept(address) == (1, 0)
            assert (await kept(address, OTHER))[1] >= 2


@requirement("SR-2.4")
@requirement("SR-4.2.a")
@pytest.mark.parametrize("data", [b"new", LARGE], ids=["in one message", "in parts"])
async def test_one_that_is_made_again_by_any_server_is_the_same_for_all(address: str, data: bytes) -> None:
    with anyio.fail_after(30):
        async with NatsStore.open(address) as one, NatsStore.open(address) as two:
            old = await one.append(URI, LARGE, number=number(0), create=described(URI))
            await one.remove(URI)

            new = await two.append(URI, data, number=number(0), create=described(URI), cause="again")
            await one.append(URI, b"!", expected_revision=1)

            await until_at_one(two, one)
            async with NatsStore.open(address) as fresh:
                for store in (one, two, fresh):
                    assert await content(store) == data + b"!"
                    assert (await store.read(URI, old.position)).reset == "epoch"
                    assert (await store.read(URI, Position(new.position.epoch, 0, 0))).causes == ("again",)
                    assert await store.append(URI, data, number=number(0)) == new


@requirement("SR-3.5")
async def test_what_is_made_again_is_rolled_up_and_removed_again(address: str) -> None:
    with anyio.fail_after(30):
        async with NatsStore.open(address, roll_up_bytes=1_000) as one, NatsStore.open(address) as two:
            for _ in range(3):
                await one.create(described(URI))
                for count in range(60):
                    head = await one.append(URI, b"%d\n" % count, cause=f"c{count // 20}")
                assert (await kept(address))[0] < 60
                start = Position(head.position.epoch, 0, 0)
                async with NatsStore.open(address) as fresh:
                    assert await content(fresh) == b"".join(b"%d\n" % count for count in range(60))
                    assert (await fresh.read(URI, start)).causes == ("c0", "c1", "c2")
                await until_at_one(two, one)
                await two.remove(URI)
                with pytest.raises(ResourceNotFound):
                    await one.append(URI, b"x")
                assert await kept(address) == (1, 0)


@requirement("S5")
async def test_the_parts_of_a_writer_that_died_go_with_the_resource(address: str) -> None:
    servers, _, _ = address.rpartition("/")
    async with NatsStore.open(address) as store, await nats.connect(servers) as client:
        await store.create(described(URI))
        subject = Address.parse(address).parts_subject(URI)
        await client.jetstream().publish(subject, encode_part("d" * 32, 0, b"lost"))
        head = await store.append(URI, LARGE)
        await store.remove(URI)

        async with NatsStore.open(address) as fresh:
            with pytest.raises(ResourceNotFound):
                await fresh.read(URI, head.position)
            await fresh.append(URI, LARGE, create=described(URI))
            await until_at_one(store, fresh)
            assert await content(store) == LARGE


@requirement("SR-4.2.b")
async def test_what_version_1_published_is_read(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    what = Description(uri=URI, name="log", title="The log")
    with monkeypatch.context() as older:
        older.setattr(messages, "VERSION", 1)
        older.setattr(messages, "asdict", as_in_version_1)
        older.setattr("streamres.store.nats.resource.asdict", as_in_version_1)
        async with NatsStore.open(address, roll_up_bytes=1_000) as store:
            await store.create(what)
            await store.create(described(OTHER), b"x" * 10)
            for count in range(100):
                await store.append(OTHER, b"%d\n" % count)
            assert (await kept(address, OTHER))[0] < 100
            head = await store.append(URI, b"a", number=number(0))

    async with NatsStore.open(address) as store:
        assert (await store.entry(URI)).description == what
        assert await head_of(store) == head
        assert await uris(store) == [URI, OTHER]
        await store.append(URI, b"b", cause="now")
        assert (await store.read(URI, head.position)).causes == ("now",)


def as_in_version_1(value: Description) -> dict[str, object]:
    return {
        "uri": value.uri,
        "name": value.name,
        "kind": value.kind,
        "mime_type": value.mime_type,
        "title": value.title,
        "description": value.description,
        "audience": value.audience,
    }


async def test_what_is_not_listed_is_not_listed_by_a_server_that_starts_later(address: str) -> None:
    async with NatsStore.open(address, roll_up_bytes=1_000) as one:
        await one.create(described(URI))
        await one.create(replace(described(OTHER), listed=False), b"0")
        for count in range(100):
            await one.append(OTHER, b"%d\n" % count)
        assert (await kept(address, OTHER))[0] < 100
        async with NatsStore.open(address) as fresh:
            assert await uris(fresh) == [URI]
            assert await content(fresh, OTHER) == await content(one, OTHER)
            with one.watch([OTHER], list_changed=True) as watch, anyio.fail_after(10):
                await fresh.remove(OTHER)
                await fresh.append(URI, b"after")
                while await head_of(one) != await head_of(fresh):
                    await anyio.sleep(0.005)
                assert not watch.marked
                with pytest.raises(ResourceNotFound):
                    await one.entry(OTHER)
