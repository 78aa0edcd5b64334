"""`Producer`: every byte once, across faults and restarts; room, spools, and the proof at the seal (section 9)."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from requirement import requirement
from server.wire import URI

from streamres import (
    DigestMismatch,
    LimitExceeded,
    Limits,
    Producer,
    ProtocolError,
    ResourceSealed,
    RpcError,
    Server,
)
from streamres.errors import ProducerFenced, StoreError
from streamres.model import Head
from streamres.store import MemoryStore

from .proxy import Cut, cutting

TEXT = "compiling \N{EURO SIGN} \N{GRINNING FACE}\n".encode()


class GatedStore(MemoryStore):
    """Makes appends only while its gate is open; knows what it was asked for."""

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits)
        self.gate = anyio.Event()
        self.asked: list[dict[str, Any]] = []

    async def append(self, uri: str, data: bytes, **rest: Any) -> Head:  # type: ignore[override]  # noqa: ANN401
        self.asked.append({**rest, "data": data})
        await self.gate.wait()
        return await super().append(uri, data, **rest)


class Served:
    def __init__(self, url: str, store: MemoryStore) -> None:
        self.url, self.store = url, store

    async def content(self) -> bytes:
        return b"".join((await self.store.read(URI)).step.slices())

    async def head(self) -> Head:
        return (await self.store.entry(URI)).head


@asynccontextmanager
async def serving(store: MemoryStore | None = None) -> AsyncIterator[Served]:
    store = store or MemoryStore()
    async with Server("tested", store=store).serve(port=0, upload=True) as url:
        with anyio.fail_after(20):
            yield Served(url, store)


NOBODY = "http://127.0.0.1:1/mcp"


@requirement("SR-9.1")
@pytest.mark.parametrize("spooled", [False, True])
async def test_what_is_put_is_held_sent_together_and_there_after_a_flush(spooled: bool, tmp_path: Path) -> None:
    store = GatedStore()
    async with (
        serving(store) as served,
        Producer(served.url, URI, spool=tmp_path if spooled else None) as producer,
    ):
        await producer.put(TEXT)
        while not store.asked:
            await asyncio.sleep(0)
        for _ in range(99):
            await producer.put(TEXT)
        assert producer.waiting_bytes == 100 * len(TEXT)
        store.gate.set()
        await producer.flush()

        assert producer.waiting_bytes == 0
        assert await served.content() == 100 * TEXT
        assert (await served.head()).position.revision == 2


@requirement("SR-9.1")
@requirement("SR-2.1")
async def test_what_a_spool_holds_is_delivered_by_the_next_producer_with_it(tmp_path: Path) -> None:
    async with Producer(NOBODY, URI, spool=tmp_path) as producer:
        await producer.put(TEXT + "\N{EURO SIGN}".encode()[:1])
        first = producer.id
    async with serving() as served:
        async with Producer(served.url, URI, spool=tmp_path) as producer:
            await producer.put("\N{EURO SIGN}".encode()[1:])
            assert (producer.id, producer.epoch, producer.state) == (first, 0, "open")
            await producer.seal()

        assert await served.content() == TEXT + "\N{EURO SIGN}".encode()
        assert (await served.head()).state == "complete"
        assert [path.name for path in tmp_path.iterdir()] == ["lock"]


@requirement("SR-9.1")
@pytest.mark.parametrize("reached", [False, True], ids=["never reached the server", "was made, and not heard of"])
async def test_an_append_that_was_under_way_when_the_producer_ended_is_made_once(
    reached: bool, tmp_path: Path
) -> None:
    """The answer is cut, or the request: the next producer sends the same bytes under the same number."""
    async with serving() as served:
        cut = Cut(b"HTTP/1.1 200 OK") if reached else Cut()
        async with cutting(served.url, [Cut(b"HTTP/1.1 404"), *[cut] * 50]) as proxy:
            faults = anyio.Event()
            spooled = Producer(proxy.url, URI, spool=tmp_path, on_fault=lambda exc, wait_s: faults.set())
            async with spooled as producer:
                await producer.put(TEXT)
                await faults.wait()
        async with Producer(served.url, URI, spool=tmp_path) as producer:
            await producer.append(TEXT)
            assert producer.epoch == 0
            await producer.seal()

        assert await served.content() == 2 * TEXT


@requirement("SR-9.1")
async def test_a_seal_that_was_under_way_when_the_producer_ended_is_made_by_the_next_which_takes_nothing_more(
    tmp_path: Path,
) -> None:
    store = GatedStore()
    store.gate.set()
    async with serving(store) as served:
        async with Producer(served.url, URI, spool=tmp_path) as producer, anyio.create_task_group() as tasks:
            await producer.append(TEXT)
            store.gate = anyio.Event()
            tasks.start_soon(producer.seal)
            while not store.asked[-1]["seal"]:
                await asyncio.sleep(0)
            tasks.cancel_scope.cancel()
        async with Producer(served.url, URI, spool=tmp_path) as producer:
            assert producer.state == "complete"
            with pytest.raises(ResourceSealed):
                await producer.put(TEXT)
            store.gate.set()
            await producer.flush()

        assert ((await served.head()).state, await served.content()) == ("complete", TEXT)


@requirement("SR-9.1")
async def test_a_line_of_the_journal_that_was_cut_is_none(tmp_path: Path) -> None:
    async with serving() as served:
        async with Producer(served.url, URI, spool=tmp_path) as producer:
            await producer.append(TEXT)
        with (tmp_path / "journal").open("ab") as journal:
            journal.write(b'{"seq":1,"begin":23,"e')
        async with Producer(served.url, URI, spool=tmp_path) as producer:
            await producer.append(TEXT)
            await producer.seal()

        assert await served.content() == 2 * TEXT


async def test_after_the_machine_has_begun_anew_what_the_disk_was_not_known_to_have_is_not_sent(
    tmp_path: Path,
) -> None:
    async with Producer(NOBODY, URI, spool=tmp_path) as producer:
        await producer.put(TEXT)
        while not any("kept" in entry and entry["kept"] for entry in journal_of(tmp_path)):
            await asyncio.sleep(0.01)
    (data,) = tmp_path.glob("*.data")
    with data.open("ab") as file:
        file.write(bytes(100))  # what a file system may leave of bytes that it did not get to write
    first, rest = (tmp_path / "journal").read_text().split("\n", 1)
    (tmp_path / "journal").write_text(json.dumps({**json.loads(first), "boot": "another"}) + "\n" + rest)

    async with serving() as served:
        async with Producer(served.url, URI, spool=tmp_path) as producer:
            await producer.seal()

        assert await served.content() == TEXT


def journal_of(spool: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (spool / "journal").read_text().splitlines()]


async def test_of_a_full_spool_what_was_delivered_goes_first(tmp_path: Path) -> None:
    async with serving() as served:
        async with Producer(served.url, URI, spool=tmp_path, spool_bytes=8_000) as producer:
            for _ in range(1_000):
                await producer.put(TEXT)
            await producer.flush()
            assert sum(path.stat().st_size for path in tmp_path.glob("*.data")) <= 8_000
            assert producer.dropped_bytes == 0
        async with Producer(served.url, URI, spool=tmp_path, spool_bytes=8_000) as producer:
            await producer.append(TEXT)
            await producer.seal()

        assert await served.content() == 1_001 * TEXT


@requirement("SR-9.1")
async def test_a_server_that_lost_more_than_the_spool_still_has_is_told_from_one_that_can_go_on(
    tmp_path: Path,
) -> None:
    async with serving() as served, Producer(served.url, URI, spool=tmp_path, spool_bytes=8_000) as producer:
        for _ in range(20):
            await producer.append(TEXT * 100)
    async with serving() as other, Producer(other.url, URI, spool=tmp_path, spool_bytes=8_000) as producer:
        with pytest.raises(ProtocolError, match="has lost what it acknowledged"):
            await producer.append(TEXT)


@requirement("SR-9.1")
async def test_a_producer_without_a_past_takes_over_from_the_one_with_its_id(tmp_path: Path) -> None:
    async with serving() as served, Producer(served.url, URI, producer="ci", spool=tmp_path) as older:
        await older.append(b"a")
        async with Producer(served.url, URI, producer="ci") as newer:
            await newer.append(b"b")
            assert (older.epoch, newer.epoch) == (0, 1)

            with pytest.raises(ProducerFenced):
                await older.append(b"x")
            with pytest.raises(ProducerFenced):
                await older.seal()
            await newer.append(b"c")
            assert await served.content() == b"abc"


@requirement("SR-9.1")
async def test_of_two_that_begin_with_one_id_in_the_same_moment_the_later_takes_over() -> None:
    store = GatedStore()
    async with (
        serving(store) as served,
        Producer(served.url, URI, producer="ci") as older,
        Producer(served.url, URI, producer="ci") as newer,
    ):
        await older.put(b"a")
        while len(store.asked) < 1:
            await asyncio.sleep(0)
        await newer.put(b"b")
        while len(store.asked) < 2:
            await asyncio.sleep(0)
        store.gate.set()
        await newer.flush()

        with pytest.raises(ProducerFenced):
            await older.append(b"x")
        assert (newer.epoch, await served.content()) == (1, b"ab")


@requirement("SR-9.1")
async def test_a_spool_whose_producer_was_taken_over_while_it_was_away_is_refused(tmp_path: Path) -> None:
    async with serving() as served:
        async with Producer(served.url, URI, producer="ci", spool=tmp_path) as older:
            await older.append(b"a")
        async with Producer(served.url, URI, producer="ci") as newer:
            await newer.append(b"b")
        async with Producer(served.url, URI, spool=tmp_path) as older:
            with pytest.raises(ProducerFenced):
                await older.append(b"x")


@requirement("SR-9.1")
async def test_a_spool_that_was_set_back_is_refused(tmp_path: Path) -> None:
    async with serving() as served:
        async with Producer(served.url, URI, spool=tmp_path) as producer:
            await producer.append(b"a")
            before = (tmp_path / "journal").read_bytes()
            await producer.append(b"b")
        (tmp_path / "journal").write_bytes(before)
        async with Producer(served.url, URI, spool=tmp_path) as producer:
            with pytest.raises(ProtocolError, match="its spool was set back"):
                await producer.append(b"c")

        assert await served.content() == b"ab"


async def test_a_spool_is_for_one_process_and_one_resource(tmp_path: Path) -> None:
    async with Producer(NOBODY, URI, spool=tmp_path):
        with pytest.raises(StoreError, match="in use by another push"):
            Producer(NOBODY, URI, spool=tmp_path)
    with pytest.raises(StoreError, match="is the spool of kind 'text', not of 'blob'"):
        Producer(NOBODY, URI, kind="blob", spool=tmp_path)
    with pytest.raises(StoreError, match="is the spool of producer"):
        Producer(NOBODY, URI, producer="other", spool=tmp_path)


async def test_where_the_disk_takes_no_more_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StoreError, match="the spool"):
        Producer(NOBODY, URI, spool=tmp_path / "file")


@requirement("SR-12.3")
@pytest.mark.parametrize("spooled", [False, True])
async def test_where_the_server_is_behind_what_is_held_has_a_limit_and_the_giver_waits(
    spooled: bool, tmp_path: Path
) -> None:
    store = GatedStore()
    spool = tmp_path if spooled else None
    async with (
        serving(store) as served,
        Producer(served.url, URI, spool=spool, buffer_bytes=10_000, spool_bytes=10_000) as producer,
    ):
        with anyio.move_on_after(0.3):
            for _ in range(1_000):
                await producer.put(TEXT)
        assert 9_000 < producer.waiting_bytes <= 10_000
        store.gate.set()
        await producer.put(TEXT)
        await producer.flush()

        assert (await served.content()).replace(TEXT, b"") == b""
        assert producer.dropped_bytes == 0


@requirement("SR-12.3")
async def test_where_it_is_to_drop_the_log_says_how_much_where_it_was() -> None:
    store = GatedStore()
    async with (
        serving(store) as served,
        Producer(served.url, URI, buffer_bytes=10_000, on_full="drop-oldest") as producer,
    ):
        await producer.put(b"under way: ")
        while not store.asked:
            await asyncio.sleep(0)
        for number in range(4_000):
            await producer.put(b"%d\n" % number)
        assert producer.waiting_bytes <= 10_000
        store.gate.set()
        await producer.seal()

        before, notice, rest = (await served.content()).split(b"\n", 2)
        assert (before, notice) == (
            b"under way: ",
            b"[streamres: %d bytes were dropped here]" % producer.dropped_bytes,
        )
        first = int(rest.split(b"\n", 1)[0])
        assert rest == b"".join(b"%d\n" % number for number in range(first, 4_000))
        assert producer.dropped_bytes == sum(len(b"%d\n" % number) for number in range(first))


@requirement("SR-12.3")
async def test_a_patch_that_can_never_be_held_is_refused() -> None:
    async with serving() as served, Producer(served.url, URI, kind="json", buffer_bytes=1_000) as producer:
        read, write = os.pipe()
        os.write(write, b"x" * 3_000)

        async def push() -> None:
            while await producer.put_from(read):
                pass

        with pytest.raises(LimitExceeded, match="buffer_bytes = 1000; write shorter patches, one a line"):
            await push()
        os.close(write)
        os.close(read)
        with pytest.raises(LimitExceeded, match="on_full"):
            Producer(served.url, URI, kind="json", on_full="drop-oldest")


@requirement("SR-3.4")
async def test_the_seal_carries_the_digest_of_all_that_was_sent_across_restarts_too(tmp_path: Path) -> None:
    store = GatedStore()
    store.gate.set()
    async with serving(store) as served:
        for part in (b"caf\xe9 ", TEXT, b"\xe2\x82"):
            async with Producer(served.url, URI, spool=tmp_path) as producer:
                await producer.append(part)
        async with Producer(served.url, URI, spool=tmp_path) as producer:
            await producer.seal()

        assert store.asked[-1]["expected_digest"] == (await served.head()).digest
        assert await served.content() == "caf\N{REPLACEMENT CHARACTER} ".encode() + TEXT + "\ufffd".encode()


class LosingStore(MemoryStore):
    """Loses a byte of what it acknowledges."""

    async def append(self, uri: str, data: bytes, **rest: Any) -> Head:  # type: ignore[override]  # noqa: ANN401
        return await super().append(uri, data[1:], **rest)


@requirement("SR-3.4")
async def test_a_server_that_has_other_content_than_was_sent_seals_nothing_and_the_difference_is_said() -> None:
    async with serving(LosingStore()) as served, Producer(served.url, URI) as producer:
        await producer.append(b"content")

        with pytest.raises(DigestMismatch, match="7 bytes were sent, 6 are there"):
            await producer.seal()

        assert (await served.head()).state == "open"


@requirement("SR-3.4")
async def test_where_another_has_written_too_the_seal_has_no_digest() -> None:
    async with serving() as served, Producer(served.url, URI) as one, Producer(served.url, URI) as two:
        await one.append(b"one")
        await two.append(b"two")
        await one.seal()

        assert ((await served.head()).state, await served.content()) == ("complete", b"onetwo")


async def test_an_append_that_is_refused_is_forgotten_and_the_next_one_is_made() -> None:
    async with serving() as served, Producer(served.url, URI, kind="json") as producer:
        await producer.patch([{"op": "add", "path": "", "value": {}}])
        with pytest.raises(RpcError):
            await producer.patch([{"op": "remove", "path": "/nothing"}])
        await producer.patch([{"op": "add", "path": "/a", "value": 1}])
        await producer.seal()

        assert await served.content() == b'{"a":1}'
        with pytest.raises(ResourceSealed):
            await producer.patch([])


async def test_what_answers_elsewhere_takes_no_uploads(tmp_path: Path) -> None:
    async with Server("tested").serve(port=0) as url:
        for spool in (None, tmp_path):
            async with Producer(url, URI, spool=spool) as producer:
                with pytest.raises(ProtocolError, match="takes no uploads"):
                    await producer.append(b"x")
