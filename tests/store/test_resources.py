"""Making, describing and listing resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres.errors import LimitExceeded, ResourceExists, ResourceNotFound
from streamres.limits import Limits
from streamres.model import Description
from streamres.store import Entry

from .scene import NOWHERE, OTHER, URI, content, described, head_of, observed, uris

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from streamres.store import Store

    from .scene import OpenStore


@requirement("SR-8.1")
async def test_a_created_resource_is_empty_open_and_described_as_stated(open_store: OpenStore) -> None:
    store = await open_store()
    description = Description(
        uri=URI, name="log", mime_type="text/markdown", title="The log", description="Of build 7"
    )

    head = await store.create(description)

    assert (head.position.revision, head.position.length, head.state, head.digest) == (0, 0, "open", None)
    assert await store.entry(URI) == Entry(description=description, head=head)
    assert await content(store) == b""


@requirement("SR-2.4")
async def test_resources_made_one_after_another_have_epochs_of_their_own(open_store: OpenStore) -> None:
    heads = [await (await open_store()).create(described(URI)) for _ in range(20)]

    assert len({head.position.epoch for head in heads}) == 20


@requirement("M3")
async def test_a_uri_that_is_taken_is_refused_and_the_resource_stays(store: Store) -> None:
    start = await head_of(store)
    await store.append(URI, b"kept")
    before = await observed(store, start.position)

    with store.watch([URI], list_changed=True) as watch:
        with pytest.raises(ResourceExists) as caught:
            await store.create(Description(uri=URI, name="another"))

        assert caught.value.uri == URI
        assert not watch.marked
    assert await observed(store, start.position) == before


CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "append": lambda store: store.append(NOWHERE, b"x"),
    "replace": lambda store: store.replace(NOWHERE, b"x"),
    "compact": lambda store: store.compact(NOWHERE, 0),
    "entry": lambda store: store.entry(NOWHERE),
    "read": lambda store: store.read(NOWHERE),
}


@requirement("SR-5.6")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_resource_that_is_not_there_is_named_and_not_made(
    store: Store, call: Callable[[Store], Awaitable[object]]
) -> None:
    with pytest.raises(ResourceNotFound) as caught:
        await call(store)

    assert caught.value.uri == NOWHERE
    assert await uris(store) == [URI]


@requirement("SR-3.1")
async def test_resources_do_not_touch_each_other(store: Store) -> None:
    await store.create(described(OTHER))

    await store.append(URI, b"a")
    await store.append(OTHER, b"b", seal="aborted")

    assert (await content(store, URI), (await head_of(store, URI)).state) == (b"a", "open")
    assert (await content(store, OTHER), (await head_of(store, OTHER)).state) == (b"b", "aborted")


async def test_a_list_is_in_the_order_of_creation_whatever_is_written(open_store: OpenStore) -> None:
    store = await open_store()
    made = [f"build://{name}" for name in ("m", "z", "a", "k")]
    for uri in made:
        await store.create(described(uri))

    await store.append("build://a", b"x")
    await store.replace("build://k", b"x")

    assert await uris(store) == made


@requirement("SR-8.1")
async def test_a_listed_resource_says_where_it_stands(store: Store) -> None:
    head = await store.append(URI, b"x", seal="complete")

    assert await store.list(limit=1) == [Entry(description=described(URI), head=head)]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 100])
async def test_pages_of_a_list_join_to_the_whole_while_more_is_made(open_store: OpenStore, limit: int) -> None:
    store = await open_store()
    made = [f"build://{index}" for index in range(5)]
    for uri in made[:4]:
        await store.create(described(uri))

    pages = [await uris(store, limit=limit)]
    await store.create(described(made[4]))
    while page := await uris(store, after=pages[-1][-1], limit=limit):
        pages.append(page)

    assert [uri for page in pages for uri in page] == made
    assert max(map(len, pages)) <= limit


async def test_a_list_of_nothing_is_empty(open_store: OpenStore) -> None:
    store = await open_store()

    assert await store.list(limit=10) == []


@requirement("SR-12.3")
@requirement("M3")
async def test_one_resource_too_many_is_refused_and_changes_nothing(open_store: OpenStore) -> None:
    store = await open_store(Limits(resources=2))
    await store.create(described(URI))
    await store.create(described(OTHER))

    with store.watch([NOWHERE], list_changed=True) as watch:
        with pytest.raises(LimitExceeded) as caught:
            await store.create(described(NOWHERE))
        with pytest.raises(ResourceExists):
            await store.create(described(URI))

        assert (caught.value.limit, caught.value.value) == ("resources", 2)
        assert not watch.marked
    assert await uris(store) == [URI, OTHER]
    await store.append(OTHER, b"goes on")
