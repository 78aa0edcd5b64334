"""What led to a delta, as every store keeps it (SR-8.4.a)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres.errors import DeltaError, LimitExceeded, ResourceNotFound
from streamres.model import Description, Position

from .scene import NOWHERE, URI, content, described, head_of, number, text_of

if TYPE_CHECKING:
    from streamres.store import Store

    from .scene import OpenStore


async def causes(store: Store, since: Position, uri: str = URI) -> tuple[str, ...]:
    return (await store.read(uri, since)).causes


@requirement("SR-8.4.a")
async def test_a_delta_names_what_led_to_the_revisions_after_the_cursor(store: Store) -> None:
    positions = [(await head_of(store)).position]
    for data, cause in [(b"a", "first"), (b"b", "first"), (b"c", None), (b"d", "second"), (b"e", "first")]:
        positions.append((await store.append(URI, data, cause=cause)).position)

    assert [await causes(store, position) for position in positions] == [
        ("first", "second"),
        ("first", "second"),
        ("second", "first"),
        ("second", "first"),
        ("first",),
        (),
    ]
    assert (await store.read(URI)).causes == ()
    bounded = await store.read(URI, positions[1], max_bytes=2)
    assert (text_of(bounded), bounded.causes) == (b"bc", ("first",))


@requirement("SR-8.4.a")
async def test_many_revisions_of_one_cause_and_many_causes_are_all_kept(store: Store) -> None:
    start = (await head_of(store)).position
    for _ in range(50):
        await store.append(URI, b"x", cause="first")
    middle = (await head_of(store)).position
    for count in range(50):
        await store.append(URI, b"y", cause=f"c{count}")

    assert await causes(store, start) == ("first", *(f"c{count}" for count in range(50)))
    assert await causes(store, middle) == tuple(f"c{count}" for count in range(50))
    late = await store.read(URI, Position(middle.epoch, middle.revision + 20, middle.length + 20), max_bytes=3)
    assert late.causes == ("c20", "c21", "c22")


@requirement("SR-8.4.a")
@requirement("SR-9.1.b")
async def test_a_numbered_repeat_with_another_cause_changes_nothing(store: Store) -> None:
    start = (await head_of(store)).position
    head = await store.append(URI, b"a", number=number(0), cause="first")

    assert await store.append(URI, b"a", number=number(0), cause="second") == head
    assert await store.append(URI, b"a", number=number(0)) == head

    assert await causes(store, start) == ("first",)


@requirement("SR-8.4.a")
async def test_what_makes_or_seals_a_resource_has_a_cause_too(store: Store) -> None:
    made = await store.append(NOWHERE, b"a", cause="begin", create=described(NOWHERE))
    sealed = await store.append(NOWHERE, b"", seal="complete", cause="end")

    start = Position(made.position.epoch, 0, 0)
    assert await causes(store, start, NOWHERE) == ("begin", "end")
    assert await causes(store, made.position, NOWHERE) == ("end",)
    assert await causes(store, sealed.position, NOWHERE) == ()


@requirement("SR-8.4.a")
async def test_a_patch_names_what_led_to_it(store: Store) -> None:
    head = await store.create(Description(uri=NOWHERE, name="plan", kind="json"), b"[]")
    for word in ("one", "two"):
        await store.append(NOWHERE, b'[{"op":"add","path":"/-","value":"%s"}]' % word.encode(), cause=word)

    reading = await store.read(NOWHERE, head.position)

    assert (reading.reset, reading.causes) == (None, ("one", "two"))


@requirement("M3")
async def test_a_cause_that_is_none_is_refused_and_nothing_is_changed_or_made(store: Store) -> None:
    before = await head_of(store)

    for cause, error in (("c" * 257, LimitExceeded), ("", DeltaError), ("\ud800", DeltaError)):
        with pytest.raises(error):
            await store.append(URI, b"a", cause=cause)
        with pytest.raises(error):
            await store.append(NOWHERE, b"a", cause=cause, create=described(NOWHERE))

    assert await head_of(store) == before
    with pytest.raises(ResourceNotFound):
        await store.entry(NOWHERE)
    kept = "é" * 256
    await store.append(URI, b"a", cause=kept)
    assert await causes(store, before.position) == (kept,)


@requirement("SR-2.4")
@requirement("SR-3.5")
async def test_causes_go_with_the_history_that_they_belong_to(store: Store) -> None:
    positions = [(await store.append(URI, b"x", cause=f"c{count}")).position for count in range(10)]

    await store.compact(URI, 5)
    assert await causes(store, positions[4]) == ("c5", "c6", "c7", "c8", "c9")
    assert (await store.read(URI, positions[3])).reset == "expired"

    replaced = await store.replace(URI, b"new")
    assert await causes(store, replaced.position) == ()
    await store.append(URI, b"on", cause="after")
    assert await causes(store, replaced.position) == ("after",)
    assert await content(store) == b"newon"


@requirement("SR-8.4.a")
async def test_causes_of_one_resource_are_not_those_of_another(open_store: OpenStore) -> None:
    store = await open_store()
    starts = {}
    for index in range(3):
        uri = f"build://{index}"
        starts[uri] = (await store.create(described(uri))).position
        for turn in range(3):
            await store.append(uri, b"x", cause=f"{uri} {turn}")

    for uri, start in starts.items():
        assert await causes(store, start, uri) == tuple(f"{uri} {turn}" for turn in range(3))
