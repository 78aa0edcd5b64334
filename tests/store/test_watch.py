"""What a reader who waits is told: level-triggered, one head a resource, and nothing left behind (S3, S6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest
from requirement import requirement

from .scene import NOWHERE, OTHER, URI, described, head_of

if TYPE_CHECKING:
    from streamres.store import Store, Watch


async def is_asleep(watch: Watch) -> bool:
    """Says whether a wait on the watch goes on when everybody else has done what they can."""
    async with anyio.create_task_group() as tasks:
        returned = anyio.Event()

        async def wait() -> None:
            await watch.wait()
            returned.set()

        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    return not returned.is_set()


@requirement("S3")
async def test_a_commit_before_the_wait_is_seen(store: Store) -> None:
    with store.watch([URI]) as watch:
        head = await store.append(URI, b"a")

        with anyio.fail_after(5):
            await watch.wait()

        assert watch.take() == {URI: head}


@requirement("S3")
async def test_a_commit_during_the_wait_is_seen(store: Store) -> None:
    with store.watch([URI]) as watch, anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.wait)
            await anyio.wait_all_tasks_blocked()
            head = await store.append(URI, b"a")

        assert watch.take() == {URI: head}


@requirement("S3")
async def test_a_commit_between_the_wait_and_the_take_is_in_the_take_and_not_told_again(store: Store) -> None:
    with store.watch([URI]) as watch, anyio.fail_after(5):
        await store.append(URI, b"a")
        await watch.wait()
        head = await store.append(URI, b"b")

        assert watch.take() == {URI: head}
        assert await is_asleep(watch)


@requirement("S3")
async def test_a_commit_after_the_take_is_for_the_next_wait(store: Store) -> None:
    with store.watch([URI]) as watch, anyio.fail_after(5):
        await store.append(URI, b"a")
        await watch.wait()
        watch.take()
        head = await store.append(URI, b"b")

        await watch.wait()

        assert watch.take() == {URI: head}


@requirement("S3")
async def test_marks_that_were_not_taken_end_every_further_wait(store: Store) -> None:
    with store.watch([URI]) as watch, anyio.fail_after(5):
        head = await store.append(URI, b"a")

        for _ in range(3):
            await watch.wait()

        assert watch.take() == {URI: head}


@requirement("S3")
@pytest.mark.parametrize("steps", range(5), ids=lambda steps: f"after {steps} steps")
async def test_a_commit_at_any_step_of_the_wait_is_seen(store: Store, steps: int) -> None:
    with store.watch([URI]) as watch, anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.wait)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            head = await store.append(URI, b"a")

        assert watch.take() == {URI: head}


@requirement("S3")
@pytest.mark.parametrize("lands", ["before the wait", "then the cancellation", "after it", "when it is over"])
async def test_a_cancelled_wait_loses_nothing(store: Store, lands: str) -> None:
    async def wait(scope: anyio.CancelScope) -> None:
        with scope:
            await watch.wait()

    with store.watch([URI]) as watch, anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            if lands == "before the wait":
                await store.append(URI, b"a")
            tasks.start_soon(wait, scope := anyio.CancelScope())
            await anyio.wait_all_tasks_blocked()
            if lands == "then the cancellation":
                await store.append(URI, b"a")
            scope.cancel()
            if lands == "after it":
                await store.append(URI, b"a")
        if lands == "when it is over":
            await store.append(URI, b"a")

        await watch.wait()

        assert watch.take() == {URI: await head_of(store)}


@requirement("S6")
@requirement("SR-6.4")
async def test_many_commits_are_one_head_a_resource_the_newest(store: Store) -> None:
    await store.create(described(OTHER))

    with store.watch([URI, OTHER]) as watch:
        for count in range(500):
            await store.append(URI, b"%d\n" % count)
            await store.append(OTHER, b"%d\n" % count)
        sealed = await store.append(URI, b"", seal="complete")

        assert watch.take() == {URI: sealed, OTHER: await head_of(store, OTHER)}
        assert watch.take() == {}


@requirement("SR-6.2")
@requirement("SR-2.4")
async def test_replacement_and_seal_are_told_and_compaction_and_nothing_new_are_not(store: Store) -> None:
    with store.watch([URI], list_changed=True) as watch:
        replaced = await store.replace(URI, b"new")
        assert watch.take() == {URI: replaced}

        await store.compact(URI, 0)
        await store.append(URI, b"")
        assert not watch.marked

        sealed = await store.append(URI, b"", seal="aborted")
        assert watch.take() == {URI: sealed}

        await store.append(URI, b"", seal="aborted")
        assert not watch.marked


@requirement("SR-7.4")
async def test_a_resource_that_does_not_exist_yet_is_told_of_when_it_is_made(store: Store) -> None:
    with store.watch([NOWHERE]) as watch, anyio.fail_after(5):
        assert await is_asleep(watch)

        created = await store.create(described(NOWHERE))
        await watch.wait()
        assert watch.take() == {NOWHERE: created}
        assert not watch.take_list_changed()

        head = await store.append(NOWHERE, b"a")
        assert watch.take() == {NOWHERE: head}


async def test_a_change_of_the_list_is_told_once_to_those_who_asked(store: Store) -> None:
    with store.watch([], list_changed=True) as watch, store.watch([]) as deaf, anyio.fail_after(5):
        await store.create(described(OTHER))
        await store.create(described(NOWHERE))

        await watch.wait()
        assert (watch.take_list_changed(), watch.take_list_changed()) == (True, False)
        assert watch.take() == {}
        assert not deaf.marked

        await store.append(OTHER, b"an append changes no list")
        assert not watch.marked


@requirement("S6")
async def test_a_watch_is_told_of_its_own_resources_only_and_each_reader_takes_for_itself(store: Store) -> None:
    await store.create(described(OTHER))

    with store.watch([URI]) as one, store.watch([URI, OTHER]) as both:
        head, other = await store.append(URI, b"a"), await store.append(OTHER, b"b")

        assert one.take() == {URI: head}
        assert both.take() == {URI: head, OTHER: other}


@requirement("S3")
async def test_what_happened_before_the_watch_is_not_told(store: Store) -> None:
    await store.append(URI, b"a")

    with store.watch([URI], list_changed=True) as watch:
        assert not watch.marked
        assert await is_asleep(watch)


@requirement("S3")
@pytest.mark.parametrize("when", ["before the wait", "during the wait"])
async def test_a_wake_ends_one_wait_without_a_mark(store: Store, when: str) -> None:
    with store.watch([URI]) as watch, anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            if when == "before the wait":
                watch.wake()
            tasks.start_soon(watch.wait)
            await anyio.wait_all_tasks_blocked()
            if when == "during the wait":
                watch.wake()

        assert watch.take() == {}
        assert await is_asleep(watch)


@requirement("S6")
async def test_a_watch_that_ended_is_told_nothing_more(store: Store) -> None:
    with store.watch([URI, NOWHERE, URI], list_changed=True) as watch, store.watch([URI]) as other:
        pass
    with store.watch([URI]) as third:
        await store.append(URI, b"a")
        await store.create(described(NOWHERE))

        assert third.marked
        assert not watch.marked
        assert not other.marked
