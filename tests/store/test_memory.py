"""What only the memory store shows: that nothing is left behind."""

from __future__ import annotations

from contextlib import suppress

import anyio
from requirement import requirement

from streamres.store import MemoryStore

from .scene import NOWHERE, URI, described


async def leave_by_the_end(store: MemoryStore) -> None:
    with store.watch([URI, NOWHERE, URI], list_changed=True):
        await store.append(URI, b"a")


async def leave_by_an_error(store: MemoryStore) -> None:
    with suppress(ValueError), store.watch([URI, NOWHERE, URI], list_changed=True):
        raise ValueError


async def leave_by_cancellation(store: MemoryStore) -> None:
    with anyio.move_on_after(0), store.watch([URI, NOWHERE, URI], list_changed=True) as watch:
        await watch.wait()


@requirement("S6")
async def test_nothing_is_kept_of_a_watch_that_ended_however_it_ended() -> None:
    store = MemoryStore()
    await store.create(described(URI))

    for leave in (leave_by_the_end, leave_by_an_error, leave_by_cancellation):
        with anyio.fail_after(5):
            await leave(store)
        assert not store._watches


@requirement("S6")
async def test_an_append_that_nobody_watches_leaves_no_trace_of_watching() -> None:
    store = MemoryStore()
    await store.create(described(URI))

    await store.append(URI, b"a")

    assert not store._watches
