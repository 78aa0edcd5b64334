"""Writing: commits, seals, replacement, numbered appends, and what is refused."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres.errors import (
    DeltaError,
    DigestMismatch,
    LimitExceeded,
    ProducerConflict,
    ProducerFenced,
    ProducerGap,
    ResourceNotFound,
    ResourceSealed,
    RevisionConflict,
    StreamresError,
)
from streamres.limits import Limits
from streamres.model import SEALS, ProducerStanding, ResourceLog, Seal

from .scene import NOWHERE, OTHER, URI, content, described, head_of, number, observed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from streamres.model import Head
    from streamres.store import Store

    from .scene import OpenStore

    Write = Callable[[Store], Awaitable[Head]]


@requirement("M1")
async def test_each_append_is_the_next_revision_and_is_there_when_acknowledged(store: Store) -> None:
    for count, data in enumerate([b"a\r", b"\nb\0", "é😀".encode(), b"a\r"], start=1):
        head = await store.append(URI, data)
        assert head == await head_of(store)
        assert head.position.revision == count

    assert await content(store) == "a\r\nb\0é😀a\r".encode()


@requirement("M6")
@requirement("SR-3.4")
@requirement("SR-9.2")
@pytest.mark.parametrize("seal", SEALS)
async def test_append_and_seal_are_one_step_and_prove_the_content(store: Store, seal: Seal) -> None:
    await store.append(URI, b"begin, ")

    head = await store.append(URI, b"end without a line end", seal=seal)

    digest = b64encode(sha256(b"begin, end without a line end").digest()).decode()
    assert (head.position.revision, head.state, head.digest) == (2, seal, f"sha-256=:{digest}:")
    assert await store.append(URI, b"", seal=seal) == head


@requirement("SR-9.2")
async def test_an_append_may_demand_the_revision_that_it_follows(store: Store) -> None:
    await store.append(URI, b"a", expected_revision=0)

    with pytest.raises(RevisionConflict) as caught:
        await store.append(URI, b"x", expected_revision=0)

    assert caught.value.actual == 1
    await store.append(URI, b"b", expected_revision=caught.value.actual)
    assert await content(store) == b"ab"


@requirement("SR-9.1")
async def test_a_repeat_is_acknowledged_with_the_first_head_and_tells_nobody(store: Store) -> None:
    first = await store.append(URI, b"same\n", number=number(0))
    await store.append(URI, b"same\n", number=number(1))
    last = await store.append(URI, b"", seal="complete", number=number(2))

    with store.watch([URI]) as watch:
        assert await store.append(URI, b"same\n", number=number(0)) == first
        assert await store.append(URI, b"", seal="complete", number=number(2)) == last
        assert not watch.marked

    assert await content(store) == b"same\nsame\n"


@requirement("SR-9.1")
async def test_a_gap_and_an_older_epoch_are_refused_with_what_was_expected(store: Store) -> None:
    await store.append(URI, b"a", number=number(0, epoch=1))
    await store.append(URI, b"b", number=number(0, epoch=2))

    with pytest.raises(ProducerGap) as gap:
        await store.append(URI, b"x", number=number(5, epoch=2))
    with pytest.raises(ProducerFenced) as fenced:
        await store.append(URI, b"x", number=number(1, epoch=1))

    assert (gap.value.expected, fenced.value.current) == (1, 2)
    assert await content(store) == b"ab"


@requirement("SR-9.1")
async def test_the_numbers_of_a_producer_are_those_of_one_resource(store: Store) -> None:
    await store.create(described(OTHER))

    await store.append(URI, b"a", number=number(0))
    await store.append(OTHER, b"b", number=number(0))

    assert (await content(store, URI), await content(store, OTHER)) == (b"a", b"b")


@requirement("SR-2.4")
async def test_replaced_content_begins_a_new_epoch_each_time_and_numbers_go_on(store: Store) -> None:
    await store.append(URI, b"old", number=number(0))
    first = await head_of(store)

    heads = [first, *[await store.replace(URI, text) for text in (b"new", b"new", b"")]]

    assert len({head.position.epoch for head in heads}) == 4
    assert [head.position.revision for head in heads[1:]] == [0, 0, 0]
    await store.append(URI, b"end", number=number(1))
    assert await content(store) == b"end"


WRITES: dict[str, tuple[type[StreamresError], Write]] = {
    "not UTF-8": (DeltaError, lambda s: s.append(URI, b"\xff")),
    "a cut code point": (DeltaError, lambda s: s.append(URI, "é".encode()[:1])),
    "replaced by what is not UTF-8": (DeltaError, lambda s: s.replace(URI, b"\xff")),
    "another revision": (RevisionConflict, lambda s: s.append(URI, b"x", expected_revision=7)),
    "a number with other bytes": (ProducerConflict, lambda s: s.append(URI, b"x", number=number(0))),
    "a gap": (ProducerGap, lambda s: s.append(URI, b"x", number=number(2))),
    "an older epoch": (ProducerFenced, lambda s: s.append(URI, b"x", number=number(1, epoch=0))),
    "a producer too many": (LimitExceeded, lambda s: s.append(URI, b"x", number=number(0, producer="q"))),
    "an append too large": (LimitExceeded, lambda s: s.append(URI, b"x" * 11)),
}


@requirement("M3")
@requirement("SR-12.3")
@pytest.mark.parametrize(("error", "write"), WRITES.values(), ids=WRITES)
async def test_a_refused_write_changes_nothing_and_tells_nobody(
    open_store: OpenStore, error: type[StreamresError], write: Write
) -> None:
    store = await open_store(Limits(producers=1, append_bytes=10))
    start = await store.create(described(URI))
    await store.append(URI, b"kept", number=number(0))
    before = await observed(store, start.position)

    with store.watch([URI], list_changed=True) as watch:
        with pytest.raises(error):
            await write(store)
        assert not watch.marked

    assert await observed(store, start.position) == before
    await store.append(URI, b" and on", number=number(1))
    assert await content(store) == b"kept and on"


@requirement("M6")
@requirement("SR-9.3")
@pytest.mark.parametrize("seal", SEALS)
async def test_after_the_seal_every_write_is_refused(store: Store, seal: Seal) -> None:
    start = await head_of(store)
    await store.append(URI, b"done", seal=seal)
    before = await observed(store, start.position)
    other: Seal = "aborted" if seal == "complete" else "complete"
    writes: list[Write] = [
        lambda s: s.append(URI, b"x"),
        lambda s: s.append(URI, b"", seal=other),
        lambda s: s.append(URI, b"x", number=number(0)),
        lambda s: s.replace(URI, b"x"),
    ]

    with store.watch([URI]) as watch:
        for write in writes:
            with pytest.raises(ResourceSealed) as caught:
                await write(store)
            assert caught.value.state == seal
        assert not watch.marked

    assert await observed(store, start.position) == before


@requirement("SR-12.3")
async def test_the_largest_append_is_taken_and_a_byte_more_is_refused_with_the_limit(
    open_store: OpenStore,
) -> None:
    store = await open_store(Limits(append_bytes=10))
    await store.create(described(URI))

    with pytest.raises(LimitExceeded) as caught:
        await store.append(URI, b"x" * 11)
    await store.append(URI, b"y" * 10)

    assert (caught.value.limit, caught.value.value) == ("append_bytes", 10)
    assert await content(store) == b"y" * 10


@requirement("SR-9.1")
async def test_where_a_producer_stands_is_told(store: Store) -> None:
    assert await store.producer(URI, "p") is None

    for seq in range(3):
        await store.append(URI, b"x", number=number(seq))
    assert await store.producer(URI, "p") == ProducerStanding(1, 3)
    await store.append(URI, b"x", number=number(1))
    await store.append(URI, b"x", number=number(0, epoch=4))

    assert await store.producer(URI, "p") == ProducerStanding(4, 1)
    assert await store.producer(URI, "other") is None
    with pytest.raises(ResourceNotFound):
        await store.producer(NOWHERE, "p")


@requirement("SR-3.4")
@requirement("M3")
async def test_a_seal_with_another_digest_changes_nothing(store: Store) -> None:
    await store.append(URI, b"content")
    before = await head_of(store)
    right, wrong = (ResourceLog(URI, epoch=0, content=content).content.digest() for content in (b"content!", b"?"))

    with pytest.raises(DigestMismatch) as caught:
        await store.append(URI, b"!", seal="complete", expected_digest=wrong)

    assert (caught.value.expected, caught.value.actual) == (wrong, right)
    assert await head_of(store) == before
    assert await content(store) == b"content"
    assert (await store.append(URI, b"!", seal="complete", expected_digest=right)).digest == right
