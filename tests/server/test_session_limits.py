"""Sessions are bounded: in idle time, in number, in what each subscribes to; a refusal names its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres import Limits

from .older import Clock, Older, begun, serving_by, until_nobody_streams
from .wire import OTHER, URI, WatchedStore, serving

if TYPE_CHECKING:
    from .wire import Wire


@requirement("SR-12.3")
async def test_a_session_that_is_idle_ends_and_one_that_is_used_or_has_a_stream_does_not() -> None:
    clock = Clock()
    store = WatchedStore()
    async with serving_by(clock, Limits(session_idle_s=60), store) as wire:
        idle, used, streaming = await begun(wire), await begun(wire), await begun(wire)
        async with streaming.stream():
            clock.now = 59
            await used.ask("ping")
            clock.now = 61
            await used.ask("ping")

            assert (await idle.post("ping")).status_code == 404
            await store.until_watched_by(2)

            clock.now = 100
            await used.ask("ping")
            clock.now = 1_000
            assert (await used.post("ping")).status_code == 404
            await streaming.ask("ping")
        clock.now = 1_059
        await streaming.ask("ping")
        clock.now = 2_000
        assert (await streaming.request("GET")).status_code == 404
    assert store.watchers == 0


@requirement("SR-12.3")
async def test_the_idle_time_of_a_session_begins_when_its_stream_was_closed() -> None:
    clock = Clock()
    async with serving_by(clock, Limits(session_idle_s=60)) as wire:
        client = await begun(wire)
        async with client.stream():
            clock.now = 500
        await until_nobody_streams(wire)
        clock.now = 555
        await client.ask("ping")


@requirement("SR-12.3")
async def test_a_session_too_many_takes_the_place_of_the_longest_unused_that_has_no_stream() -> None:
    clock = Clock()
    async with serving_by(clock, Limits(sessions=3, session_idle_s=60)) as wire:
        streaming, gone, used = await begun(wire), await begun(wire), await begun(wire)
        async with streaming.stream():
            await used.ask("ping")
            await begun(wire)

            assert (await gone.post("ping")).status_code == 404
            await used.ask("ping")
            await streaming.ask("ping")


@requirement("SR-12.3")
async def test_a_session_too_many_is_refused_by_the_name_of_the_limit_where_each_has_a_stream() -> None:
    async with serving_by(Clock(), Limits(sessions=1)) as wire:
        first = await begun(wire)
        async with first.stream():
            refused = Older(wire)

            error = (await refused.initialize())["error"]

            assert refused.session is None
            assert (error["code"], error["data"]) == (-32602, {"reason": "limit", "limit": "sessions", "value": 1})
            assert "DELETE" in error["message"]
            await first.request("DELETE")
            await begun(wire)


@requirement("SR-12.3")
async def test_a_uri_too_many_is_refused_by_the_name_of_the_limit_and_a_repeat_is_none() -> None:
    async with serving(Limits(subscription_uris=1)) as wire:
        client = await begun(wire)
        await client.subscribe()
        await client.subscribe()
        refused = await client.ask("resources/subscribe", {"uri": OTHER})
        await client.unsubscribe(URI)
        await client.subscribe(OTHER)

    assert refused["error"]["data"] == {"reason": "limit", "limit": "subscription_uris", "value": 1}


@pytest.mark.parametrize(
    ("params", "data"),
    [
        ({}, {"reason": "invalid_params"}),
        ({"uri": 7}, {"reason": "invalid_params"}),
        ({"uri": "no uri"}, {"reason": "invalid_uri", "uri": "no uri"}),
        ({"uri": f"a:{'x' * 2048}"}, {"reason": "invalid_uri", "uri": f"a:{'x' * 2048}"}),
    ],
)
async def test_what_no_resource_can_be_is_refused(wire: Wire, params: dict[str, object], data: object) -> None:
    client = await begun(wire)

    answer = await client.ask("resources/subscribe", params)

    assert (answer["error"]["code"], answer["error"]["data"]) == (-32602, data)
