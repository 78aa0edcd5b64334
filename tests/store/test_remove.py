"""Removing a resource: nothing of it is left, and its URI is free for another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from requirement import requirement

from streamres.errors import ResourceNotFound
from streamres.limits import Limits
from streamres.model import KINDS, Description, Kind

from .scene import NOWHERE, OTHER, URI, content, described, head_of, number, text_of, uris

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from streamres.model import Head
    from streamres.store import Store

    from .scene import OpenStore

CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "append": lambda store: store.append(URI, b"x"),
    "numbered append": lambda store: store.append(URI, b"x", number=number(0)),
    "seal": lambda store: store.append(URI, b"", seal="complete"),
    "replace": lambda store: store.replace(URI, b"x"),
    "compact": lambda store: store.compact(URI, 1),
    "entry": lambda store: store.entry(URI),
    "producer": lambda store: store.producer(URI, "p"),
    "read": lambda store: store.read(URI),
    "remove": lambda store: store.remove(URI),
}


@requirement("SR-5.6.b")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("seal", [None, "complete"], ids=["open", "sealed"])
async def test_what_is_removed_is_not_there_for_any_call(
    store: Store, seal: None, call: Callable[[Store], Awaitable[object]]
) -> None:
    await store.create(described(OTHER), b"stays")
    await store.append(URI, b"x", number=number(0), seal=seal)

    await store.remove(URI)

    with pytest.raises(ResourceNotFound) as caught:
        await call(store)
    assert caught.value.uri == URI
    assert await uris(store) == [OTHER]
    assert await content(store, OTHER) == b"stays"


@requirement("M3")
async def test_what_is_not_there_cannot_be_removed(store: Store) -> None:
    with store.watch([NOWHERE, URI], list_changed=True) as watch:
        with pytest.raises(ResourceNotFound) as caught:
            await store.remove(NOWHERE)

        assert caught.value.uri == NOWHERE
        assert not watch.marked
    assert await uris(store) == [URI]


@requirement("SR-2.4")
@requirement("SR-3.7")
@pytest.mark.parametrize("kind", KINDS)
async def test_one_that_is_made_again_is_another(open_store: OpenStore, kind: Kind) -> None:
    store = await open_store()
    first, second = (b"[0]", b"[1]") if kind == "json" else (b"first", b"second")
    added = b'[{"op":"add","path":"/-","value":2}]' if kind == "json" else b"!"
    what = Description(uri=URI, name="log", kind=kind)
    old = await store.create(what, first)
    for seq in range(3):
        old = await store.append(URI, added, number=number(seq), cause="old")
    await store.create(described(OTHER))

    await store.remove(URI)
    new = await store.create(what, second)

    assert new.position.epoch != old.position.epoch
    assert (new.position.revision, new.state) == (0, "open")
    assert await content(store) == second
    assert await store.producer(URI, "p") is None
    assert await uris(store) == [OTHER, URI]
    since = await store.read(URI, old.position)
    assert (since.reset, text_of(since)) == ("epoch", second)
    head = await store.append(URI, added, number=number(0))
    assert (head.position.revision, head.position.epoch) == (1, new.position.epoch)
    assert (await store.read(URI, new.position)).causes == ()


async def test_a_uri_is_free_for_a_resource_of_another_kind(store: Store) -> None:
    await store.append(URI, b"text", seal="complete")
    await store.remove(URI)

    await store.append(URI, b"\xff\x00", create=Description(uri=URI, name="core", kind="blob"))

    assert await content(store) == b"\xff\x00"
    assert [entry.description.kind for entry in await store.list(limit=9)] == ["blob"]


@requirement("S3")
async def test_watchers_of_the_list_are_told_and_those_of_the_resource_when_it_is_there_again(
    store: Store,
) -> None:
    with store.watch([URI], list_changed=True) as watch, anyio.fail_after(5):
        await store.remove(URI)
        assert (watch.take(), watch.take_list_changed()) == ({}, True)
        assert not watch.marked

        made = await store.create(described(URI))
        assert (watch.take(), watch.take_list_changed()) == ({URI: made}, True)


@requirement("SR-12.3")
async def test_what_is_removed_makes_room(open_store: OpenStore) -> None:
    store = await open_store(Limits(resources=1))
    for index in range(3):
        await store.create(described(f"build://{index}"))
        await store.remove(f"build://{index}")

    assert await uris(store) == []


async def test_a_list_goes_on_after_a_removal_in_the_order_of_creation(open_store: OpenStore) -> None:
    store = await open_store()
    for name in "abcde":
        await store.create(described(f"build://{name}"))

    await store.remove("build://c")
    await store.remove("build://e")
    await store.create(described("build://c"))

    assert await uris(store) == ["build://a", "build://b", "build://d", "build://c"]
    assert await uris(store, after="build://b", limit=1) == ["build://d"]
    assert await uris(store, after="build://e") == []


@requirement("S1")
async def test_writes_that_meet_a_removal_are_before_it_or_find_nothing(store: Store) -> None:
    """Whatever the order is, it is one order: what is acknowledged after the removal is of the new resource."""
    outcomes: list[Head | None] = []
    old = await head_of(store)

    async def append() -> None:
        try:
            outcomes.append(await store.append(URI, b"x"))
        except ResourceNotFound:
            outcomes.append(None)

    async def make_again() -> None:
        await store.remove(URI)
        await store.create(described(URI))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for turn in range(20):
                tasks.start_soon(append)
                if turn == 10:
                    tasks.start_soon(make_again)

    new = [head for head in outcomes if head is not None and head.position.epoch != old.position.epoch]
    assert len(outcomes) == 20
    assert [head.position.revision for head in new] == list(range(1, len(new) + 1))
    assert await content(store) == b"x" * len(new)
    assert (await head_of(store)).position.epoch != old.position.epoch


@requirement("S1")
async def test_of_two_who_remove_one_succeeds(store: Store) -> None:
    outcomes: list[str] = []

    async def remove() -> None:
        try:
            await store.remove(URI)
        except ResourceNotFound:
            outcomes.append("not there")
        else:
            outcomes.append("removed")

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(remove)

    assert sorted(outcomes) == ["not there", "not there", "removed"]
