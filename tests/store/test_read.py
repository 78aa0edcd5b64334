"""Reading since, in pages, after compaction, and while somebody writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest
from requirement import requirement

from streamres.errors import RevisionConflict
from streamres.model import Append, Position, Snapshot, fold

from .scene import URI, content, head_of, text_of

if TYPE_CHECKING:
    from streamres.store import Store

LARGE = "😀x\n".encode() * 50_000


@requirement("S2")
@requirement("M4")
async def test_every_retained_position_is_continued_to_every_later_one(store: Store) -> None:
    whole: list[tuple[Position, Snapshot, bytes]] = []
    for data in (b"", b"a\r", b"\n", "é😀".encode(), b"\0b"):
        head = await store.append(URI, data)
        snapshot = (await store.read(URI)).step
        assert isinstance(snapshot, Snapshot)
        whole.append((head.position, snapshot, await content(store)))

        for position, earlier, _ in whole:
            delta = (await store.read(URI, position)).step
            assert isinstance(delta, Append)
            assert (delta.start, delta.stop) == (position, head.position)
            assert fold(earlier, [delta]) == whole[-1][2]


@requirement("SR-5.3")
async def test_a_read_since_the_head_is_empty_and_only_the_state_says_ended(store: Store) -> None:
    running = await store.append(URI, b"a")
    up_to_date = await store.read(URI, running.position)
    sealed = await store.append(URI, b"", seal="complete")
    ended = await store.read(URI, sealed.position)

    assert (text_of(up_to_date), up_to_date.state, up_to_date.digest) == (b"", "open", None)
    assert (text_of(ended), ended.state, ended.digest) == (b"", "complete", sealed.digest)


@requirement("SR-5.5")
async def test_what_cannot_be_continued_is_a_reset_from_which_the_reader_goes_on(store: Store) -> None:
    old = (await store.append(URI, b"a")).position
    await store.append(URI, b"b")
    await store.compact(URI, 2)
    expired = await store.read(URI, old)
    ahead = await store.read(URI, Position(old.epoch, 99, 99))
    await store.replace(URI, b"new")
    replaced = await store.read(URI, old)

    assert [(r.reset, text_of(r)) for r in (expired, ahead)] == [("expired", b"ab"), ("ahead", b"ab")]
    assert (replaced.reset, text_of(replaced)) == ("epoch", b"new")
    await store.append(URI, b"er")
    assert text_of(await store.read(URI, replaced.step.stop)) == b"er"


@requirement("SR-4.5")
@requirement("SR-3.5")
async def test_the_head_is_servable_however_much_is_compacted(store: Store) -> None:
    head = await store.append(URI, b"kept")

    await store.compact(URI, 10**9)

    assert await head_of(store) == head
    assert await content(store) == b"kept"
    await store.append(URI, b"!")
    assert text_of(await store.read(URI, head.position)) == b"!"


@requirement("SR-5.7")
@pytest.mark.parametrize("max_bytes", [1, 4, 5, 65_536, 10**9])
async def test_pages_join_to_the_content_and_only_the_last_is_sealed(store: Store, max_bytes: int) -> None:
    text = "a😀é\n".encode() * (3 if max_bytes < 10 else 30_000)
    head = await store.append(URI, text, seal="complete")
    parts: list[bytes] = []

    reading = await store.read(URI, max_bytes=max_bytes)
    while reading.more:
        assert (reading.state, reading.reset) == ("open", None)
        parts.append(text_of(reading))
        assert parts[-1]
        reading = await store.read(URI, reading.step.stop, max_bytes=max_bytes)
    parts.append(text_of(reading))

    assert b"".join(parts) == text
    assert all(part.decode() for part in parts)
    assert max(map(len, parts)) <= max(max_bytes, 4)
    assert (reading.step.stop, reading.state, reading.digest) == (head.position, "complete", head.digest)


@requirement("SR-5.8")
async def test_a_late_reader_starts_at_the_last_lines_and_follows_from_there(store: Store) -> None:
    await store.append(URI, b"line\n" * 100_000)
    await store.append(URI, b"last")

    reading = await store.read(URI, tail_bytes=11)
    await store.append(URI, b" line\n")

    assert isinstance(reading.step, Snapshot)
    assert (text_of(reading), reading.step.begin) == (b"line\nlast", 499_995)
    assert text_of(await store.read(URI, reading.step.stop)) == b" line\n"


@requirement("S4")
@requirement("SR-3.1")
async def test_a_reader_in_the_middle_of_a_walk_holds_up_no_writer_and_sees_what_it_asked_for(
    store: Store,
) -> None:
    await store.append(URI, LARGE)
    reading = await store.read(URI)
    walk = iter(reading.step.slices())
    parts = [next(walk)]

    with anyio.fail_after(5):
        await store.append(URI, LARGE)
        await store.compact(URI, 2)
        await store.replace(URI, b"other")
        await store.append(URI, b"", seal="aborted")

    parts.extend(walk)
    assert len(parts) > 2
    assert b"".join(parts) == LARGE


@requirement("S1")
@requirement("S2")
async def test_appends_at_once_are_one_order_and_every_reader_sees_it(store: Store) -> None:
    start = await head_of(store)
    acknowledged: list[tuple[int, bytes]] = []
    seen: list[bytes] = []

    async def write(name: str) -> None:
        for count in range(20):
            data = f"{name}{count}\n".encode()
            head = await store.append(URI, data)
            acknowledged.append((head.position.revision, data))
            await anyio.lowlevel.checkpoint()

    async def read() -> None:
        position, text = start.position, b""
        while position.revision < 100:
            reading = await store.read(URI, position)
            assert reading.reset is None
            position, text = reading.step.stop, text + text_of(reading)
            await anyio.lowlevel.checkpoint()
        seen.append(text)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for name in "abcde":
                tasks.start_soon(write, name)
            for _ in range(3):
                tasks.start_soon(read)

    assert sorted(revision for revision, _ in acknowledged) == list(range(1, 101))
    whole = b"".join(data for _, data in sorted(acknowledged))
    assert seen == [whole] * 3
    assert await content(store) == whole
    for name in "abcde":
        order = [data for _, data in sorted(acknowledged) if data.startswith(name.encode())]
        assert order == [f"{name}{count}\n".encode() for count in range(20)]


@requirement("S1")
@requirement("SR-9.2")
async def test_of_writers_that_demand_the_same_revision_one_succeeds(store: Store) -> None:
    outcomes: list[str] = []

    async def write(name: str) -> None:
        try:
            await store.append(URI, name.encode(), expected_revision=0)
        except RevisionConflict:
            outcomes.append("conflict")
        else:
            outcomes.append(name)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for name in "abc":
                tasks.start_soon(write, name)

    assert sorted(outcomes)[1:] == ["conflict", "conflict"]
    assert (await content(store)).decode() == sorted(outcomes)[0]
