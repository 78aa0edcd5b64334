"""`waitMs`: the answer is held while there is nothing new, and no longer."""

from __future__ import annotations

from contextlib import asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING

import anyio
import pytest
from requirement import requirement

from streamres import Limits

from .wire import URI, WatchedStore, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from .wire import Answer, Binding, Wire

LONG_MS = 30_000


@asynccontextmanager
async def waiting(
    wire: Wire, store: WatchedStore, binding: Binding
) -> AsyncIterator[Callable[[], Awaitable[Answer]]]:
    """A read that waits at the head; gives the way to its answer."""
    since = await wire.cursor()
    answers: list[Answer] = []
    async with anyio.create_task_group() as tasks:

        async def read() -> None:
            answers.append(await wire.read(binding, since=since, waitMs=LONG_MS))
            answered.set()

        answered = anyio.Event()
        tasks.start_soon(read)
        await store.until_watched_by(1)

        async def answer() -> Answer:
            with anyio.fail_after(5):
                await answered.wait()
            return answers[0]

        yield answer


@requirement("SR-5.4")
@pytest.mark.parametrize("change", ["append", "seal", "append and seal", "replace"])
async def test_a_waiting_read_is_answered_by_the_commit(binding: Binding, change: str) -> None:
    store = WatchedStore()
    async with serving(store=store) as wire, waiting(wire, store, binding) as answer:
        if change == "replace":
            await store.replace(URI, b"new")
        else:
            data = b"new" if "append" in change else b""
            await store.append(URI, data, seal="complete" if "seal" in change else None)

        stream = (await answer()).stream(binding)

        if change == "replace":
            assert (stream["reset"], (await answer()).text) == ("epoch", "new")
        else:
            assert stream["delta"]["text"] == data.decode()
            assert stream["state"] == ("complete" if "seal" in change else "open")
        await store.until_watched_by(0)


@requirement("SR-5.4")
async def test_a_server_that_closes_answers_what_waits(binding: Binding) -> None:
    store = WatchedStore()
    async with serving(store=store) as wire, waiting(wire, store, binding) as answer:
        wire.server.close()

        stream = (await answer()).stream(binding)

    assert (stream["delta"]["text"], stream["state"]) == ("", "open")
    assert store.watchers == 0


@requirement("SR-5.4")
@requirement("SR-5.3")
async def test_a_wait_ends_with_its_time(wire: Wire, binding: Binding) -> None:
    since = await wire.cursor()
    begun = monotonic()

    stream = (await wire.read(binding, since=since, waitMs=50)).stream(binding)

    assert monotonic() - begun >= 0.05
    assert (stream["delta"]["text"], stream["cursor"], stream["state"]) == ("", since, "open")


@requirement("SR-5.4")
@pytest.mark.parametrize("wait_ms", [LONG_MS, 2**62])
async def test_a_wait_ends_at_the_servers_cap(binding: Binding, wait_ms: int) -> None:
    async with serving(Limits(wait_ms=50)) as wire:
        since = await wire.cursor()

        stream = (await wire.read(binding, since=since, waitMs=wait_ms)).stream(binding)

    assert stream["delta"]["text"] == ""


@requirement("SR-5.4")
async def test_nothing_waits_where_there_is_news_or_an_end_or_no_cursor(wire: Wire, binding: Binding) -> None:
    since = await wire.cursor()
    assert (await wire.read(binding, waitMs=LONG_MS)).text == ""

    await wire.append("news")
    news = (await wire.read(binding, since=since, waitMs=LONG_MS)).stream(binding)
    await wire.seal()
    head = await wire.cursor()
    end = (await wire.read(binding, since=head, waitMs=LONG_MS)).stream(binding)

    assert news["delta"]["text"] == "news"
    assert (end["delta"]["text"], end["state"]) == ("", "complete")


class CommitsBeforeTheWatch(WatchedStore):
    """Commits once between the look that finds nothing new and the watch that would tell of it."""

    commit = False

    def watch(self, uris, *, list_changed=False):  # noqa: ANN001, ANN201 - as the store has it
        if self.commit:
            self.commit = False
            self._log(URI).commit(b"between")
        return super().watch(uris, list_changed=list_changed)


@requirement("SR-5.4")
@requirement("S3")
async def test_a_commit_between_the_look_and_the_watch_is_not_slept_through(binding: Binding) -> None:
    store = CommitsBeforeTheWatch()
    async with serving(store=store) as wire:
        since = await wire.cursor()
        store.commit = True

        stream = (await wire.read(binding, since=since, waitMs=LONG_MS)).stream(binding)

    assert stream["delta"]["text"] == "between"


@requirement("SR-5.4")
@requirement("SR-5.7")
async def test_a_waiting_read_is_still_bounded(binding: Binding) -> None:
    store = WatchedStore()
    async with serving(store=store) as wire:
        since = await wire.cursor()
        streams: list[dict[str, object]] = []
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                answer = await wire.read(binding, since=since, waitMs=LONG_MS, maxBytes=2)
                streams.append(answer.stream(binding))

            tasks.start_soon(read)
            await store.until_watched_by(1)
            await wire.append("four")

    assert (streams[0]["delta"]["text"], streams[0]["more"]) == ("fo", True)
