"""`follow` beside servers that restart, vanish, stop answering or lie."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

import anyio
import pytest
from requirement import requirement
from server.wire import URI, serving

from streamres import Client, DigestMismatch, ProtocolError, ResourceNotFound, Server, Timeouts
from streamres.transport import bind

from .lying import READ, acknowledged, lying, result, sse, updated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from streamres import ConnectionLost, Update

    from .lying import Request


class Faults(list[float]):
    """The waits that `follow` told of, and a way to wait for the next fault."""

    def __init__(self) -> None:
        super().__init__()
        self._told = anyio.Event()

    def __call__(self, exc: ConnectionLost, wait_s: float) -> None:
        self.append(wait_s)
        self._told.set()
        self._told = anyio.Event()

    async def until(self, count: int) -> None:
        with anyio.fail_after(20):
            while len(self) < count:
                await self._told.wait()


async def next_of(updates: AsyncIterator[Update]) -> Update:
    with anyio.fail_after(5):
        return await anext(updates)


async def outcome_of(updates: AsyncIterator[Update]) -> Update | Exception:
    """What comes next, raised or not; for a scene that has to be ended first."""
    try:
        return await next_of(updates)
    except Exception as exc:
        return exc


def digest_of(text: str) -> str:
    return f"sha-256=:{b64encode(sha256(text.encode()).digest()).decode()}:"


@requirement("SR-3.7")
@requirement("C3")
@requirement("SR-5.5")
async def test_a_server_that_comes_back_with_another_life_of_the_uri_gives_a_reset_and_goes_on() -> None:
    first, second = Server("first"), Server("second")
    await (await first.create(URI)).append("old text")
    resource = await second.create(URI)
    await resource.append("new")

    sock = bind("127.0.0.1", 0)
    port = sock.getsockname()[1]
    async with Client(f"http://127.0.0.1:{port}") as client:
        updates = client.follow(URI)
        async with first.serve(sock=sock):
            before = await next_of(updates)
        async with second.serve(port=port):
            reset = await next_of(updates)
            await resource.append(" text")
            more = await next_of(updates)
            await resource.seal()
            end = await next_of(updates)
            with pytest.raises(StopAsyncIteration):
                await next_of(updates)

    assert (before.text, reset.text, reset.reset, more.text) == ("old text", "new", "epoch", " text")
    assert (end.sealed, end.digest) == (True, digest_of("new text"))


@requirement("C4")
async def test_a_resource_that_is_gone_after_a_restart_ends_it_with_not_found() -> None:
    first = Server("first")
    await (await first.create(URI)).append("old text")
    sock = bind("127.0.0.1", 0)
    port = sock.getsockname()[1]
    async with Client(f"http://127.0.0.1:{port}") as client:
        updates = client.follow(URI)
        async with first.serve(sock=sock):
            await next_of(updates)
        async with Server("second").serve(port=port):
            outcome = await outcome_of(updates)

    assert isinstance(outcome, ResourceNotFound)


@requirement("SR-5.5")
@requirement("C3")
async def test_a_reader_below_the_floor_is_handed_only_what_it_has_not() -> None:
    async with serving() as wire, Client(wire.url) as client:
        await wire.append("a", "b")
        updates = client.follow(URI)
        assert (await next_of(updates)).text == "ab"
        first_cursor = await wire.cursor()
        await wire.append("c", "d")
        await wire.server.store.compact(URI, 4)
        await wire.seal()
        rest = [update async for update in updates]
        foreign = [update async for update in client.follow(URI, first_cursor)]

    assert "".join(update.text for update in rest) == "cd"
    assert not [update for update in rest if update.reset]
    assert [(update.text, update.reset) for update in foreign] == [("abcd", "expired")]


@requirement("SR-3.4")
@pytest.mark.parametrize("where", ["a snapshot", "a delta", "a notification"])
async def test_a_server_that_seals_other_content_than_it_gave_is_found_out(where: str) -> None:
    sealed = {"state": "complete", "digest": digest_of("another text")}
    step = {"from": "c1", "to": "c2", "kind": "text", "text": " more"}

    def answer(request: Request) -> bytes:
        if request["method"] == "subscriptions/listen":
            lie = updated(cursor="c2", revision=2, delta=step, **sealed)
            return sse(acknowledged(request), lie)
        if where == "a snapshot":
            return result(request, {**READ, **sealed})
        if request["params"].get("since") == "c1" and where == "a delta":
            return result(request, {**READ, **sealed, "contents": [], "cursor": "c2", "delta": step})
        return result(request, {**READ, "more": where == "a delta"})

    async with lying(answer) as url, Client(url) as client:
        updates = client.follow(URI)
        if where != "a snapshot":
            assert (await next_of(updates)).text == "text"
        with pytest.raises(DigestMismatch):
            await next_of(updates)


@requirement("C3")
@pytest.mark.parametrize("silent", ["resources/read", "subscriptions/listen"])
async def test_a_server_that_stops_answering_is_asked_again(silent: str) -> None:
    timeouts = Timeouts(answer_s=0.1, quiet_s=0.1)
    asked: list[str] = []

    def answer(request: Request) -> bytes | None:
        asked.append(request["method"])
        if asked.count(silent) == 1 and request["method"] == silent:
            return None
        if request["method"] == "subscriptions/listen":
            return sse(acknowledged(request))
        return result(
            request, READ if len(asked) < 3 else {**READ, "state": "complete", "digest": digest_of("text")}
        )

    faults = Faults()
    async with lying(answer) as url, Client(url, timeouts=timeouts) as client:
        with anyio.fail_after(10):
            updates = [update async for update in client.follow(URI, on_fault=faults)]

    assert updates[-1].sealed
    assert len(faults) >= 1


@requirement("C3")
async def test_waits_grow_to_a_bound_and_are_jittered() -> None:
    faults = Faults()
    async with Client("http://127.0.0.1:1") as client, anyio.create_task_group() as tasks:

        async def follow() -> None:
            async for _ in client.follow(URI, on_fault=faults):
                pass

        for _ in range(12):
            tasks.start_soon(follow)
        await faults.until(12 * 4)
        tasks.cancel_scope.cancel()

    rounds = [sorted(faults)[12 * n : 12 * (n + 1)] for n in range(4)]
    firsts = faults[:12]
    assert all(0.05 <= wait_s <= 0.1 for wait_s in firsts)
    assert len(set(firsts)) == 12, "a herd"
    assert max(firsts) - min(firsts) > 0.005
    assert rounds[3][-1] > 3 * rounds[0][0]
    assert max(faults) <= 5


@requirement("C1")
async def test_a_delta_from_where_the_reader_is_not_is_a_lie() -> None:
    step = {"from": "elsewhere", "to": "c2", "kind": "text", "text": "x"}

    def answer(request: Request) -> bytes:
        if "since" in request["params"]:
            return result(request, {**READ, "contents": [], "cursor": "c2", "delta": step})
        return result(request, {**READ, "more": True})

    async with lying(answer) as url, Client(url) as client:
        updates = client.follow(URI)
        await next_of(updates)
        with pytest.raises(ProtocolError):
            await next_of(updates)


async def test_a_server_that_promises_more_for_ever_is_a_lie() -> None:
    step = {"from": "c1", "to": "c1", "kind": "text", "text": ""}

    def answer(request: Request) -> bytes:
        if "since" in request["params"]:
            return result(request, {**READ, "contents": [], "delta": step, "more": True})
        return result(request, {**READ, "more": True})

    async with lying(answer) as url, Client(url) as client:
        updates = client.follow(URI)
        await next_of(updates)
        with pytest.raises(ProtocolError):
            await next_of(updates)
