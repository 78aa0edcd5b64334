"""Races, forced: a change lands between each pair of a reader's steps, a write is cancelled at each of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest
from requirement import requirement

from .scene import URI, content, described, head_of, number, text_of, uris

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from streamres.store import Store

    from .scene import OpenStore


class Gates:
    """Stops a reader at one of the points that it names, until what lands there has landed."""

    def __init__(self, stops_at: str) -> None:
        self._stops_at = stops_at
        self.reached = anyio.Event()
        self.go = anyio.Event()

    async def at(self, point: str) -> None:
        if point == self._stops_at:
            self.reached.set()
            await self.go.wait()


async def follow(store: Store, gates: Gates, seen: list[bytes]) -> None:
    """Subscribes, reads, and drains to the seal, as every reader does; each piece goes into `seen` once."""
    await gates.at("before the watch")
    with store.watch([URI]) as watch:
        await gates.at("between watch and read")
        reading = await store.read(URI)
        await gates.at("between read and use")
        seen.append(text_of(reading))
        while reading.state == "open":
            await gates.at("between use and wait")
            await watch.wait()
            await gates.at("between wait and take")
            watch.take()
            await gates.at("between take and read since")
            reading = await store.read(URI, reading.step.stop)
            assert reading.reset is None
            seen.append(text_of(reading))


POINTS = [
    "before the watch",
    "between watch and read",
    "between read and use",
    "between use and wait",
    "during the wait",
    "between wait and take",
    "between take and read since",
]
CHANGES: dict[str, tuple[Callable[[Store], Awaitable[object]], ...]] = {
    "an append, then the seal": (
        lambda store: store.append(URI, "é".encode()),
        lambda store: store.append(URI, b"", seal="complete"),
    ),
    "the last append with the seal": (lambda store: store.append(URI, "é".encode(), seal="aborted"),),
}


@requirement("S3")
@requirement("SR-7.1")
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("lands", POINTS)
async def test_a_change_that_lands_anywhere_is_seen_once(
    store: Store, lands: str, changes: tuple[Callable[[Store], Awaitable[object]], ...]
) -> None:
    await store.append(URI, b"a")
    gates = Gates(lands)
    seen: list[bytes] = []

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow, store, gates, seen)
            if lands in ("between wait and take", "between take and read since"):
                await anyio.wait_all_tasks_blocked()
                await store.append(URI, b"b")
            if lands == "during the wait":
                await anyio.wait_all_tasks_blocked()
            else:
                await gates.reached.wait()
            for change in changes:
                await change(store)
            gates.go.set()

    assert b"".join(seen) == await content(store)
    assert (await head_of(store)).state != "open"


@requirement("S3")
@requirement("SR-7.4")
@pytest.mark.parametrize("created", ["before the watch", "after the watch"])
async def test_a_resource_that_is_made_around_the_watch_is_found(open_store: OpenStore, created: str) -> None:
    store = await open_store()
    seen: list[str] = []

    async def look(watching: anyio.Event, go: anyio.Event) -> None:
        with store.watch([URI], list_changed=True) as watch:
            watching.set()
            await go.wait()
            while not (found := await uris(store)):
                await watch.wait()
                watch.take_list_changed()
            seen.extend(found)

    watching, go = anyio.Event(), anyio.Event()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            if created == "before the watch":
                await store.create(described(URI))
            tasks.start_soon(look, watching, go)
            await watching.wait()
            go.set()
            await anyio.wait_all_tasks_blocked()
            if created == "after the watch":
                await store.create(described(URI))

    assert seen == [URI]


@requirement("S5")
@pytest.mark.parametrize("steps", range(6), ids=lambda steps: f"after {steps} steps")
async def test_an_append_that_is_cancelled_leaves_all_or_nothing(store: Store, steps: int) -> None:
    await store.append(URI, b"before ")
    acknowledged = False

    async def write() -> None:
        nonlocal acknowledged
        await store.append(URI, b"all of it", seal="complete", number=number(0))
        acknowledged = True

    with store.watch([URI]) as watch, anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()

        head, text = await head_of(store), await content(store)
        made = (head.position.revision, head.state, text) == (2, "complete", b"before all of it")
        untouched = (head.position.revision, head.state, text) == (1, "open", b"before ")
        assert made or untouched
        assert made or not acknowledged
        assert (watch.take() == {URI: head}) if made else not watch.marked

    again = await store.append(URI, b"all of it", seal="complete", number=number(0))
    assert again == await head_of(store)
    assert await content(store) == b"before all of it"


@requirement("S1")
@requirement("SR-9.1")
async def test_a_resend_that_overtakes_its_first_try_is_appended_once(store: Store) -> None:
    revisions: list[int] = []

    async def send() -> None:
        revisions.append((await store.append(URI, b"once", number=number(0))).position.revision)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(send)

    assert revisions == [1] * 5
    assert await content(store) == b"once"


@requirement("S4")
@requirement("SR-6.4")
async def test_readers_that_never_take_their_marks_hold_up_no_writer(store: Store) -> None:
    with anyio.fail_after(5), store.watch([URI]) as awake:
        async with anyio.create_task_group() as tasks:

            async def idle() -> None:
                with store.watch([URI]):
                    await anyio.sleep_forever()

            for _ in range(50):
                tasks.start_soon(idle)
            await anyio.wait_all_tasks_blocked()
            for count in range(200):
                head = await store.append(URI, b"%d\n" % count)
            tasks.cancel_scope.cancel()

        assert awake.take() == {URI: head}
