"""What a producer holds has a limit: who gives more waits, or the oldest is left out and the log says so."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest
from requirement import requirement
from server.wire import URI

from streamres import (
    LimitExceeded,
    Producer,
)

from .served import TEXT, GatedStore, serving


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
        await store.until_asked(1)
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
