"""What only the store over NATS shows: one stream, any number of servers, all of them the same."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import nats
import pytest
from nats.js.api import DiscardPolicy, StreamConfig
from requirement import requirement

from streamres import Client, Server
from streamres.errors import ResourceExists, ResourceNotFound, RevisionConflict, StoreError, StreamresError
from streamres.limits import Limits
from streamres.model import KINDS, Description, Kind, Patch
from streamres.store.nats import NatsStore
from streamres.store.nats.address import Address
from streamres.store.nats.messages import PartsRef
from streamres.store.nats.parts import KEPT_S, Parts, encode_part
from streamres.store.opening import open_store

from . import nats_server
from .scene import OTHER, URI, content, described, head_of, number, text_of, uris

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from streamres.model import Head, Position
    from streamres.store import Store


@pytest.fixture
async def address() -> AsyncIterator[str]:
    async with nats_server.empty_stream("single") as address:
        yield address


@asynccontextmanager
async def opened(address: str, count: int, **options: Any) -> AsyncIterator[list[NatsStore]]:  # noqa: ANN401
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(NatsStore.open(address, **options)) for _ in range(count)]


async def until_same(stores: Sequence[Store]) -> None:
    """Waits until each has what the first has."""
    first, *others = stores
    for store in others:
        with store.watch(await uris(first), list_changed=True) as watch:
            while await store.list(limit=1_000) != await first.list(limit=1_000):
                await watch.wait()
                watch.take()
                watch.take_list_changed()


async def told(store: Store, positions: dict[str, list[Position]]) -> list[object]:
    """What a store says of every resource, and since every position that there ever was."""
    said: list[object] = [await store.list(limit=1_000)]
    for uri, since in positions.items():
        for position in [None, *since]:
            try:
                reading = await store.read(uri, position)
            except ResourceNotFound:
                said.append((uri, "is not there"))
                break
            step = reading.step
            data = step.operations if isinstance(step, Patch) else text_of(reading)
            said.append((uri, position, step.stop, data, reading.state, reading.digest, reading.reset))
            said.append(reading.causes)
    return said


class Work:
    """Writes of every kind, one after another, as chance has it."""

    def __init__(self, seed: int) -> None:
        self.positions: dict[str, list[Position]] = {}
        self._rng = random.Random(seed)
        self._seqs: dict[tuple[str, str], int] = {}

    async def step(self, store: Store, producer: str) -> None:
        """Makes one write; what is refused, because another was first, is made by nobody."""
        rng = self._rng
        kind: Kind = rng.choice(KINDS)
        uri = f"build://{kind}/{rng.randint(1, 3)}"
        try:
            head = await self._write(store, Description(uri=uri, name=kind, kind=kind), producer)
        except StreamresError:
            return
        if head is not None:
            self.positions.setdefault(uri, []).append(head.position)

    async def _write(self, store: Store, what: Description, producer: str) -> Head | None:
        rng, uri = self._rng, what.uri
        cause = rng.choice([None, "a", "b"])
        match rng.randint(0, 42):
            case 41 | 42:
                await store.remove(uri)
                return None
            case 0:
                return await store.append(uri, b"", seal="complete")
            case 1 | 2:
                return await store.replace(uri, b"[]" if what.kind == "json" else b"new\n")
            case 3:
                return await store.create(what, b"[0]" if what.kind == "json" else b"first\n")
            case 4 | 5:
                await store.compact(uri, rng.randint(0, 20))
                return None
            case 6:
                return await store.append(uri, self._data(what.kind), expected_revision=rng.randint(0, 5))
            case 7 | 8 | 9:
                seq = self._seqs.get((uri, producer), 0)
                mine = number(seq, producer=producer)
                head = await store.append(uri, self._data(what.kind), number=mine, cause=cause)
                self._seqs[uri, producer] = seq + 1
                return head
            case _:
                return await store.append(uri, self._data(what.kind), create=what, cause=cause)

    def _data(self, kind: Kind) -> bytes:
        count = self._rng.randint(1, 200)
        match kind:
            case "text":
                return "é😀\n".encode() * count
            case "blob":
                return self._rng.randbytes(count)
            case "json":
                op = "replace" if self._rng.random() < 0.3 else "add"
                return json.dumps([{"op": op, "path": "" if op == "replace" else "/-", "value": [count]}]).encode()


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


def test_an_address_names_servers_and_a_stream_and_hides_passwords() -> None:
    whole = Address.parse("nats://user:secret@a:1,b:2/logs")

    assert whole == Address(servers=("nats://user:secret@a:1", "nats://b:2"), stream="logs")
    assert Address.parse("nats://a:1").stream == "streamres"
    assert "secret" not in whole.shown
    for wrong in ("nats:a", "nats://", "nats:///logs", "nats://a/b.c", "nats://u:secret@a/b c"):
        with pytest.raises(StoreError) as caught:
            Address.parse(wrong)
        assert "secret" not in str(caught.value)


async def test_a_store_is_opened_by_its_address(address: str) -> None:
    async with open_store(address, Limits()) as store:
        await store.create(described(URI))
        assert await uris(store) == [URI]


async def test_where_nobody_listens_the_address_is_named(free_port: int) -> None:
    with anyio.fail_after(10), pytest.raises(StoreError, match=f"127.0.0.1:{free_port}/streamres: .*"):
        async with NatsStore.open(f"nats://127.0.0.1:{free_port}", open_s=0.2):
            pass


def test_without_nats_py_everything_else_imports_and_the_store_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['nats'] = None\n"
        "import anyio, streamres\n"
        "from streamres.store.opening import open_store\n"
        "async def main():\n"
        "    async with open_store('nats://127.0.0.1:1', streamres.Limits()): pass\n"
        "try: anyio.run(main)\n"
        "except streamres.StreamresError as exc: print(exc)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert "pip install 'streamres[nats]'" in done.stdout


async def test_a_stream_that_would_forget_is_refused(address: str) -> None:
    servers, _, name = address.rpartition("/")
    async with await nats.connect(servers) as client:
        subjects = Address.parse(address).subjects
        await client.jetstream().add_stream(
            StreamConfig(
                name=name, subjects=subjects, max_age=60.0, allow_rollup_hdrs=True, discard=DiscardPolicy.NEW
            )
        )

    with pytest.raises(StoreError, match="max_age"):
        async with NatsStore.open(address):
            pass


@requirement("SR-5.5.b")
async def test_where_a_message_was_removed_nothing_is_served_in_its_place(address: str) -> None:
    servers, _, name = address.rpartition("/")
    async with opened(address, 1) as (store,):
        for data in (b"a", b"b", b"c"):
            await store.append(URI, data, create=described(URI))
        async with await nats.connect(servers) as client:
            await client.jetstream().delete_msg(name, 2)

        assert await content(store) == b"abc"
        with pytest.raises(StoreError, match="messages were removed"):
            async with NatsStore.open(address):
                pass


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
