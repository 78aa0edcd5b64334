"""How a subscription ends: sealed, closed by the server, cut; and that the two kinds of end are told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest
from requirement import requirement

from streamres import Server
from streamres.store import MemoryStore

from .wire import (
    OTHER,
    SERVER_INFO,
    SUBSCRIPTION_ID,
    URI,
    WatchedStore,
    Wire,
    acknowledged,
    http_client,
    moved,
    serving,
)

if TYPE_CHECKING:
    from streamres.model import Position, Reading, Seal

    from .wire import Binding


@requirement("SR-7.3")
async def test_a_subscription_ends_with_its_result_when_all_is_sealed(wire: Wire, binding: Binding) -> None:
    other = wire.uri + "/other"
    await wire.server.create(other)

    async with wire.listen(binding, {wire.uri: {}, other: {}}, request_id="s") as frames:
        await frames.take()
        await wire.seal(text="end")
        first = moved(binding, await frames.take())
        await wire.server.store.append(other, b"", seal="aborted")
        second = moved(binding, await frames.take())
        (end,) = await frames.rest()

    assert (first["state"], second["state"]) == ("complete", "aborted")
    assert (end["id"], end["result"]["resultType"]) == ("s", "complete")
    assert set(end["result"]["_meta"]) == {SERVER_INFO, SUBSCRIPTION_ID}


@requirement("SR-7.3")
@pytest.mark.parametrize("seal", ["complete", "aborted"])
async def test_a_subscription_to_what_is_sealed_says_so_and_ends(wire: Wire, binding: Binding, seal: Seal) -> None:
    await wire.seal(seal)

    async with wire.listen(binding, {wire.uri: {}}) as frames:
        ack, end = await frames.rest()

    assert acknowledged(binding, ack)[wire.uri]["state"] == seal
    assert "result" in end


@requirement("SR-6.5")
@requirement("SR-6.2")
async def test_the_seal_is_told_to_a_reader_who_was_behind_it(wire: Wire, binding: Binding) -> None:
    since = await wire.cursor()
    await wire.seal(text="all")

    async with wire.listen(binding, {wire.uri: {"since": since}}) as frames:
        _, update, end = await frames.rest()

    assert moved(binding, update)["state"] == "complete"
    assert moved(binding, update)["digest"].startswith("sha-256=:")
    assert "result" in end


@requirement("SR-10.1")
async def test_a_plain_subscription_stays_open_after_the_seal(wire: Wire) -> None:
    later = wire.uri + "/later"
    await wire.seal()
    async with wire.listen(None, core={"resourceSubscriptions": [wire.uri, later]}) as frames:
        await frames.take()
        await wire.server.create(later)

        assert (await frames.take())["params"]["uri"] == later


@requirement("SR-7.3")
async def test_a_subscription_that_watches_the_list_too_stays_open_after_the_seal(binding: Binding) -> None:
    core = {"resourcesListChanged": True}
    async with serving() as wire, wire.listen(binding, {URI: {}}, core=core) as frames:
        await frames.take()
        await wire.seal()
        await frames.take()
        await wire.server.create(OTHER)

        assert (await frames.take())["method"] == "notifications/resources/list_changed"


async def test_a_server_that_closes_sends_what_is_due_and_then_the_result(binding: Binding) -> None:
    store = WatchedStore()
    async with serving(store=store) as wire:
        streams = {URI: {"deliver": "delta"}}
        async with wire.listen(binding, streams, request_id=1) as one, wire.listen(binding, streams) as two:
            for frames in (one, two):
                await frames.take()
            await wire.append("last words")
            wire.server.close()

            ends = [await frames.rest() for frames in (one, two)]

        assert store.watchers == 0
    for update, end in ends:
        assert moved(binding, update)["delta"]["text"] == "last words"
        assert end["result"]["resultType"] == "complete"


async def test_a_server_that_leaves_its_context_ends_every_subscription_in_order(binding: Binding) -> None:
    server = Server("tested")
    ended: list[dict[str, object]] = []
    async with http_client() as http, anyio.create_task_group() as tasks, server.serve(port=0) as url:
        listening = anyio.Event()

        async def listen() -> None:
            async with Wire(server, url, http).listen(binding, {URI: {}}) as frames:
                await frames.take()
                listening.set()
                ended.extend(await frames.rest())

        tasks.start_soon(listen)
        with anyio.fail_after(5):
            await listening.wait()

    assert [set(frame) for frame in ended] == [{"jsonrpc", "id", "result"}]


class FailsToRead(MemoryStore):
    """Reads break where a delta is asked for."""

    async def read(
        self,
        uri: str,
        since: Position | None = None,
        *,
        max_bytes: int | None = None,
        tail_bytes: int | None = None,
        append_op: bool = True,
    ) -> Reading:
        if since is not None:
            raise OSError("the disk is gone")
        return await super().read(uri, since, max_bytes=max_bytes, tail_bytes=tail_bytes, append_op=append_op)


async def test_a_subscription_that_fails_is_cut_without_a_result_and_the_server_goes_on(binding: Binding) -> None:
    async with serving(store=FailsToRead()) as wire:
        async with wire.listen(binding, {URI: {"deliver": "delta"}}) as frames:
            await frames.take()
            await wire.append("a")
            with pytest.raises(httpx2.RemoteProtocolError):
                await frames.next()

        assert (await wire.read(binding)).text == "a"


@requirement("V1")
async def test_a_request_that_fails_inside_is_an_internal_error_that_tells_nothing(binding: Binding) -> None:
    async with serving(store=FailsToRead()) as wire:
        since = await wire.cursor()

        answer = await wire.read(binding, since=since)

    assert answer.refusal == (200, -32603, None)
    assert "disk" not in answer.error["message"]
