"""What is pushed to a session while its stream is open: its own resources, in its own form, and the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from .older import OLDER, begun, told
from .wire import OTHER, STREAM, SUBSCRIPTION_ID, serving

if TYPE_CHECKING:
    from .wire import Wire


LIST_CHANGED = {"jsonrpc": "2.0", "method": "notifications/resources/list_changed", "params": {}}


@requirement("SR-10.9")
@pytest.mark.parametrize("version", [*OLDER, None])
async def test_an_update_is_pushed_with_its_cursor_and_a_read_since_gives_the_delta(
    wire: Wire, version: str | None
) -> None:
    since = await wire.cursor()
    client = await begun(wire, version=version)
    async with client.stream() as frames:
        await client.subscribe()
        await wire.append("news")
        uri, members = told(await frames.take())
    params = {"uri": uri, "_meta": {STREAM: {"since": since}}}
    result = (await client.ask("resources/read", params))["result"]

    assert uri == wire.uri
    assert members == {"cursor": await wire.cursor(), "revision": 1, "state": "open"}
    assert result["_meta"][STREAM]["delta"]["text"] == "news"
    assert result["_meta"][STREAM]["cursor"] == members["cursor"]


@requirement("SR-10.9")
@requirement("SR-6.5")
async def test_the_seal_is_told_with_its_digest_and_ends_no_stream(wire: Wire) -> None:
    client = await begun(wire)
    await client.subscribe()
    async with client.stream() as frames:
        await wire.seal(text="all")
        _, members = told(await frames.take())
        await client.subscribe(OTHER)
        await wire.server.create(OTHER)
        other, _ = told(await frames.take())

    assert members["state"] == "complete"
    assert members["digest"].startswith("sha-256=:")
    assert other == OTHER


@requirement("SR-10.9")
async def test_commits_in_one_go_are_one_update(wire: Wire) -> None:
    client = await begun(wire)
    await client.subscribe()
    async with client.stream() as frames:
        await wire.append(*["x"] * 1_000)
        await wire.append("y")
        first = told(await frames.take())
        await wire.seal()
        last = told(await frames.take())

    assert (first[1]["revision"], last[1]["revision"]) == (1_001, 1_002)


@requirement("SR-10.1")
async def test_a_listener_of_the_new_era_and_a_session_each_get_their_own_form_of_an_update(wire: Wire) -> None:
    client = await begun(wire)
    await client.subscribe()
    core = {"resourceSubscriptions": [wire.uri]}
    async with (
        client.stream() as frames,
        wire.listen("meta", {wire.uri: {}}, request_id="7") as listening,
        wire.listen(None, core=core, request_id="8") as plain,
    ):
        await listening.take()
        await plain.take()
        await wire.append("a")
        _, members = told(await frames.take())
        theirs, others = await listening.take(), await plain.take()

    assert theirs["params"]["_meta"] == {SUBSCRIPTION_ID: "7", STREAM: members}
    assert others["params"] == {"_meta": {SUBSCRIPTION_ID: "8"}, "uri": wire.uri}


async def test_sessions_are_told_each_for_itself(wire: Wire) -> None:
    await wire.server.create(other := f"{wire.uri}/2")
    first, second = await begun(wire), await begun(wire)
    await first.subscribe(wire.uri)
    await second.subscribe(other)
    async with first.stream() as one, second.stream() as two:
        await wire.append("a")
        await wire.append("b", uri=other)
        told_one, told_two = told(await one.take()), told(await two.take())
    async with first.stream() as one:
        again = told(await one.take())

    assert (told_one[0], told_two[0], again[0]) == (wire.uri, other, wire.uri)


@requirement("SR-7.2")
@requirement("SR-10.9")
async def test_a_prefix_tells_what_is_below_as_it_changes_and_nothing_of_what_stands(wire: Wire) -> None:
    client = await begun(wire)
    below = wire.uri.removesuffix("log")
    await wire.server.create(f"{below}a")
    await client.subscribe(below)
    await wire.append("before the stream")
    async with client.stream() as frames:
        missed = told(await frames.take())
        await client.subscribe(wire.uri)
        await client.unsubscribe(wire.uri)
        await wire.server.create(f"{below}b/c")
        live = [await frames.take(), await frames.take()]

    assert missed[0] == wire.uri
    assert told(next(frame for frame in live if frame != LIST_CHANGED))[0] == f"{below}b/c"


@requirement("SR-7.4")
@requirement("SR-10.9")
async def test_a_resource_that_is_not_there_yet_is_told_when_it_comes(wire: Wire) -> None:
    client = await begun(wire)
    await client.subscribe(f"{wire.uri}/later")
    await wire.server.create(f"{wire.uri}/later")
    async with client.stream() as frames:
        uri, members = told(await frames.take())

    assert (uri, members["revision"], members["state"]) == (f"{wire.uri}/later", 0, "open")


async def test_a_session_hears_that_the_list_changed_and_of_nothing_else() -> None:
    async with serving() as wire:
        client, other = await begun(wire), await begun(wire)
        await other.subscribe()
        async with client.stream() as frames:
            await wire.append("not subscribed to")
            await wire.server.create(OTHER)
            live = await frames.take()
        await client.subscribe("build://of-no-matter")
        async with client.stream() as frames:
            again = await frames.take()
            wire.server.close()
            rest = await frames.rest()

    assert (live, again, rest) == (LIST_CHANGED, LIST_CHANGED, [])


async def test_a_change_of_the_list_before_the_stream_and_a_subscription_is_told_once() -> None:
    async with serving() as wire:
        client = await begun(wire)
        await wire.server.create(OTHER)
        await client.subscribe()
        async with client.stream() as frames:
            first = await frames.take()
            wire.server.close()
            rest = await frames.rest()

    assert (first, rest) == (LIST_CHANGED, [])
