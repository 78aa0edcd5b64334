"""A resource that lists leave out: whoever knows its URI finds it as any other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest

from streamres.errors import LimitExceeded, ResourceExists
from streamres.limits import Limits
from streamres.store import Entry

from .scene import NOWHERE, OTHER, URI, content, described, head_of, uris

if TYPE_CHECKING:
    from streamres.store import Store

    from .scene import OpenStore

HIDDEN = replace(described(NOWHERE), listed=False)


async def test_lists_leave_it_out_and_every_call_finds_it(store: Store) -> None:
    created = await store.create(HIDDEN, b"a")
    await store.create(described(OTHER))

    assert await uris(store) == [URI, OTHER]
    assert await store.entry(NOWHERE) == Entry(description=HIDDEN, head=created)
    head = await store.append(NOWHERE, b"b", seal="complete")
    assert await content(store, NOWHERE) == b"ab"
    assert await head_of(store, NOWHERE) == head
    assert (await store.read(NOWHERE, created.position)).step.stop == head.position
    assert await uris(store) == [URI, OTHER]
    with pytest.raises(ResourceExists):
        await store.create(described(NOWHERE))


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_pages_join_to_what_is_listed_and_can_begin_after_what_is_not(
    open_store: OpenStore, limit: int
) -> None:
    store = await open_store()
    made = [f"build://{index}" for index in range(9)]
    for index, uri in enumerate(made):
        await store.create(replace(described(uri), listed=index % 3 == 1))

    pages = [await uris(store, limit=limit)]
    while page := await uris(store, after=pages[-1][-1], limit=limit):
        pages.append(page)

    assert [uri for page in pages for uri in page] == made[1::3]
    assert all(len(page) == limit for page in pages[:-1])
    assert await uris(store, after=made[2], limit=limit) == made[4::3][:limit]
    assert await uris(store, after=made[8], limit=limit) == []


async def test_a_watch_is_told_of_it_by_its_uri_and_by_what_is_above_it(store: Store) -> None:
    with store.watch([NOWHERE]) as own, store.watch(["build://9/"]) as above, anyio.fail_after(5):
        created = await store.create(HIDDEN)
        assert (own.take(), above.take()) == ({NOWHERE: created},) * 2

        head = await store.append(NOWHERE, b"a")
        assert (own.take(), above.take()) == ({NOWHERE: head},) * 2


async def test_no_change_of_the_list_is_told_of_it(store: Store) -> None:
    with store.watch([], list_changed=True) as watch:
        await store.create(HIDDEN)
        await store.append(NOWHERE, b"a")
        await store.remove(NOWHERE)
        await store.append(NOWHERE, b"a", create=HIDDEN)
        await store.replace(NOWHERE, b"b")
        await store.remove(NOWHERE)
        assert not watch.marked

        await store.create(replace(HIDDEN, listed=True))
        assert watch.take_list_changed()
        await store.remove(NOWHERE)
        assert watch.take_list_changed()


async def test_it_counts_as_any_other_where_there_is_a_limit(open_store: OpenStore) -> None:
    store = await open_store(Limits(resources=1))
    await store.create(HIDDEN)

    with pytest.raises(LimitExceeded):
        await store.create(described(URI))
