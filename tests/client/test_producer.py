"""`Producer`: every byte once, whoever else writes or takes over, and the proof at the seal (section 9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from requirement import requirement
from server.wire import URI

from streamres import (
    DigestMismatch,
    Producer,
    ProtocolError,
    ResourceSealed,
    RpcError,
    Server,
)
from streamres.errors import ProducerFenced
from streamres.model import Head
from streamres.store import MemoryStore

from .served import TEXT, GatedStore, serving


@requirement("SR-9.1")
@pytest.mark.parametrize("spooled", [False, True])
async def test_what_is_put_is_held_sent_together_and_there_after_a_flush(spooled: bool, tmp_path: Path) -> None:
    store = GatedStore()
    async with (
        serving(store) as served,
        Producer(served.url, URI, spool=tmp_path if spooled else None) as producer,
    ):
        await producer.put(TEXT)
        await store.until_asked(1)
        for _ in range(99):
            await producer.put(TEXT)
        assert producer.waiting_bytes == 100 * len(TEXT)
        store.gate.set()
        await producer.flush()

        assert producer.waiting_bytes == 0
        assert await served.content() == 100 * TEXT
        assert (await served.head()).position.revision == 2


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
        await store.until_asked(1)
        await newer.put(b"b")
        await store.until_asked(2)
        store.gate.set()
        await newer.flush()

        with pytest.raises(ProducerFenced):
            await older.append(b"x")
        assert (newer.epoch, await served.content()) == (1, b"ab")


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
