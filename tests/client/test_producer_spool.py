"""A producer with a spool: what it was given outlives it, and the next one with the same folder sends it once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from requirement import requirement
from server.wire import URI

from streamres import (
    Producer,
    ProtocolError,
    ResourceSealed,
)
from streamres.errors import ProducerFenced, StoreError

from .proxy import Cut, cutting
from .served import NOBODY, TEXT, GatedStore, serving


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
