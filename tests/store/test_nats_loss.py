"""What the store over NATS does when an answer, a connection or the server is lost: nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import nats
import pytest
from nats.js import JetStreamContext
from requirement import requirement

from streamres.errors import ResourceNotFound, StoreError
from streamres.model import Append
from streamres.store.nats import NatsStore

from . import nats_server
from .nats_link import Link, linked
from .scene import NOWHERE, URI, content, described, head_of, number, text_of


class Scene:
    """Two stores over one stream: `far` at the end of a link, `near` without one; and a look at the stream."""

    def __init__(
        self, far: NatsStore, near: NatsStore, link: Link, jetstream: JetStreamContext, name: str
    ) -> None:
        self.far = far
        self.near = near
        self.link = link
        self._jetstream = jetstream
        self._name = name

    async def messages(self) -> int:
        """The number of the last message in the stream."""
        return (await self._jetstream.stream_info(self._name)).state.last_seq

    async def messages_left(self) -> int:
        return (await self._jetstream.stream_info(self._name)).state.messages

    async def until_more_than(self, messages: int) -> None:
        while await self.messages() <= messages:
            await anyio.sleep(0.005)


@asynccontextmanager
async def scene(*, patience_s: float = 12.0) -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(nats_server.empty_stream("single"))
        servers, _, name = address.rpartition("/")
        link = await stack.enter_async_context(linked(int(servers.rpartition(":")[2])))
        client = await stack.enter_async_context(await nats.connect(servers))
        near = await stack.enter_async_context(NatsStore.open(address, roll_up_bytes=2_000))
        await near.create(described(URI))
        await near.append(URI, b"before\n")
        far = await stack.enter_async_context(
            NatsStore.open(f"nats://127.0.0.1:{link.port}/{name}", patience_s=patience_s, roll_up_bytes=2_000)
        )
        assert await content(far) == b"before\n"
        yield Scene(far, near, link, client.jetstream(), name)


async def until_same(store: NatsStore, other: NatsStore) -> None:
    """Waits until the first has what the second has."""
    with store.watch([URI]) as watch:
        while await head_of(store) != await head_of(other):
            await watch.wait()
            watch.take()


async def nothing(at: Scene) -> bytes:
    return b"before\nonce\n"


async def another(at: Scene) -> bytes:
    await at.near.append(URI, b"another\n")
    return b"before\nonce\nanother\n"


async def another_and_a_roll_up(at: Scene) -> bytes:
    """Nothing is left of the message whose acknowledgement was lost."""
    for _ in range(20):
        await at.near.append(URI, b"another\n" * 10)
    await at.near.replace(URI, b"new\n")
    await at.near.append(URI, b"end\n")
    assert await at.messages_left() <= 2
    return b"new\nend\n"


@requirement("S1")
@pytest.mark.parametrize("meanwhile", [nothing, another, another_and_a_roll_up])
@pytest.mark.parametrize("numbered", [False, True], ids=["without a number", "numbered"])
async def test_an_append_whose_acknowledgement_is_lost_is_made_once(
    numbered: bool, meanwhile: Callable[[Scene], Awaitable[bytes]]
) -> None:
    heads = []
    with anyio.fail_after(20):
        async with scene() as at:

            async def append() -> None:
                heads.append(await at.far.append(URI, b"once\n", number=number(0) if numbered else None))

            async with anyio.create_task_group() as tasks:
                before = await at.messages()
                at.link.is_deaf = True
                tasks.start_soon(append)
                await at.until_more_than(before)
                at.link.cut()
                expected = await meanwhile(at)
                assert heads == []
                await at.link.mend()
            assert [head.position.revision for head in heads] == [2]
            await until_same(at.far, at.near)
            assert await content(at.near) == await content(at.far) == expected


@requirement("S1")
async def test_an_append_that_did_not_get_there_is_sent_again() -> None:
    with anyio.fail_after(20):
        async with scene() as at, anyio.create_task_group() as tasks:
            at.link.is_mute = True

            async def append() -> None:
                await at.far.append(URI, b"once\n")

            tasks.start_soon(append)
            await anyio.wait_all_tasks_blocked()
            at.link.cut()
            await at.link.mend()
            for store in (at.near, at.far):
                with store.watch([URI]) as watch:
                    while await content(store) != b"before\nonce\n":
                        await watch.wait()
                        watch.take()


@requirement("SR-5.5.a")
@requirement("SR-4.2.a")
async def test_without_a_connection_it_reads_on_refuses_appends_and_goes_on_without_a_gap() -> None:
    with anyio.fail_after(20):
        async with scene(patience_s=0.2) as at:
            start = await head_of(at.far)
            at.link.cut()

            newer = await at.near.append(URI, b"meanwhile\n")
            with pytest.raises(StoreError):
                await at.far.append(URI, b"lost\n")
            with pytest.raises(StoreError):
                await at.far.create(described(NOWHERE))
            with pytest.raises(ResourceNotFound):
                await at.far.entry(NOWHERE)
            behind = await at.far.read(URI, newer.position)
            assert (behind.reset, text_of(behind)) == ("ahead", b"before\n")

            await at.link.mend()
            await until_same(at.far, at.near)
            delta = await at.far.read(URI, start.position)
            assert isinstance(delta.step, Append)
            assert text_of(delta) == b"meanwhile\n"
            await at.far.append(URI, b"after\n")
            assert await content(at.near) in (b"before\nmeanwhile\n", b"before\nmeanwhile\nafter\n")
            await until_same(at.near, at.far)
            assert await content(at.near) == b"before\nmeanwhile\nafter\n"


@requirement("S3")
async def test_a_watcher_is_told_after_the_connection_is_back() -> None:
    with anyio.fail_after(20):
        async with scene() as at:
            with at.far.watch([URI]) as watch:
                at.link.cut()
                await at.near.append(URI, b"meanwhile\n")
                head = await at.near.append(URI, b"", seal="complete")
                await at.link.mend()

                while watch.take() != {URI: head}:
                    await watch.wait()


@requirement("S1")
async def test_a_server_that_is_killed_and_started_again_has_what_was_acknowledged() -> None:
    with anyio.fail_after(30), nats_server.single() as server:
        async with NatsStore.open(f"nats://{server.url}", patience_s=0.3, outcome_s=0.3) as store:
            await store.create(described(URI))
            kept = b""
            for count in range(3):
                data = b"%d\n" % count
                await store.append(URI, data)
                kept += data
                server.kill()
                with pytest.raises(StoreError):
                    await store.append(URI, b"refused\n")
                assert await content(store) == kept
                server.start()
                server.wait_until_ready()
                while True:
                    try:
                        await store.append(URI, b"again\n", expected_revision=2 * count + 1)
                    except StoreError:
                        continue
                    break
                kept += b"again\n"
        async with NatsStore.open(f"nats://{server.url}") as store:
            assert await content(store) == kept
