"""`subscriptions/listen`: the acknowledgement, the ids, what is watched, what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from requirement import requirement

from streamres import Limits
from streamres.model import Position, decode_cursor, encode_cursor

from .wire import NOWHERE, OTHER, SUBSCRIPTION_ID, URI, acknowledged, envelope, moved, serving

if TYPE_CHECKING:
    from .wire import Binding, Wire


@requirement("SR-7.5")
@requirement("V2")
async def test_the_acknowledgement_comes_first_and_says_where_each_stream_stands(
    wire: Wire, binding: Binding
) -> None:
    start = await wire.cursor()
    await wire.append("a", "b")
    streams = {wire.uri: {"since": start, "deliver": "delta"}, NOWHERE: {}}

    async with wire.listen(binding, streams) as frames:
        ack = await frames.take()

    head = await wire.cursor()
    assert acknowledged(binding, ack) == {
        wire.uri: {"cursor": head, "revision": 2, "state": "open", "deliver": "delta"},
        NOWHERE: {"deliver": "cursor"},
    }


@requirement("SR-7.1")
async def test_since_behind_the_head_is_followed_by_an_update_at_once(wire: Wire, binding: Binding) -> None:
    start = await wire.cursor()
    await wire.append("a", "b")

    async with wire.listen(binding, {wire.uri: {"since": start}}) as frames:
        await frames.take()
        update = moved(binding, await frames.take())

    assert update == {"cursor": await wire.cursor(), "revision": 2, "state": "open"}


@requirement("SR-7.1")
async def test_since_the_head_is_followed_by_nothing_but_later_commits(wire: Wire, binding: Binding) -> None:
    await wire.append("a")

    async with wire.listen(binding, {wire.uri: {"since": await wire.cursor()}}) as frames:
        await frames.take()
        await wire.append("b")
        update = moved(binding, await frames.take())

    assert update["revision"] == 2


@requirement("SR-7.1")
@requirement("SR-5.5")
@pytest.mark.parametrize("reset", ["another epoch", "below the floor", "ahead"])
async def test_since_a_cursor_that_cannot_be_served_is_followed_by_the_head_at_once(
    wire: Wire, binding: Binding, reset: str
) -> None:
    since = await wire.cursor()
    await wire.append("a", "b")
    match reset:
        case "another epoch":
            await wire.server.store.replace(wire.uri, b"other")
        case "below the floor":
            await wire.server.store.compact(wire.uri, 2)
        case _:
            at = decode_cursor(await wire.cursor(), wire.uri)
            since = encode_cursor(Position(at.epoch, at.revision + 9, at.length + 99), wire.uri)

    async with wire.listen(binding, {wire.uri: {"since": since, "deliver": "delta"}}) as frames:
        await frames.take()
        # etcd 19487 and 14303: a watch in the future, or of a life that is over, waited in silence.
        update = moved(binding, await frames.take())

    assert update["cursor"] == await wire.cursor()
    assert "delta" not in update


@requirement("SR-7.1")
@requirement("SR-7.3")
async def test_since_ahead_of_a_seal_is_told_of_the_seal(wire: Wire, binding: Binding) -> None:
    await wire.seal(text="all")
    at = decode_cursor(await wire.cursor(), wire.uri)
    since = encode_cursor(Position(at.epoch, at.revision + 9, at.length + 99), wire.uri)

    async with wire.listen(binding, {wire.uri: {"since": since}}) as frames:
        await frames.take()
        update = moved(binding, await frames.take())

    assert update["state"] == "complete"


@requirement("SR-7.4")
@pytest.mark.parametrize("deliver", ["cursor", "delta"])
async def test_a_resource_that_does_not_exist_yet_can_be_watched(
    wire: Wire, binding: Binding, deliver: str
) -> None:
    later = wire.uri + "/later"

    async with wire.listen(binding, {later: {"deliver": deliver}}) as frames:
        assert acknowledged(binding, await frames.take()) == {later: {"deliver": deliver}}
        await wire.server.create(later)
        first = moved(binding, await frames.take())
        await wire.append("a", uri=later)
        second = moved(binding, await frames.take())

    assert (first["revision"], "delta" in first) == (0, False)
    assert second["revision"] == 1
    if deliver == "delta":
        assert second["delta"]["from"] == first["cursor"]


@pytest.mark.parametrize("request_id", [0, 7, 2**53, "listen-1", "listen:0", "1", "", '"\x00\u2028'], ids=repr)
async def test_every_frame_has_the_id_of_the_request_and_its_type(wire: Wire, request_id: object) -> None:
    core = {"resourcesListChanged": True}
    async with serving() as wire, wire.listen("fields", {URI: {}}, core=core, request_id=request_id) as frames:
        ack = await frames.take()
        await wire.append("a")
        updated = await frames.take()
        await wire.server.create(OTHER)
        changed = await frames.take()
        wire.server.close()
        (end,) = await frames.rest()

    ids = [frame["params"]["_meta"][SUBSCRIPTION_ID] for frame in (ack, updated, changed)]
    ids += [end["id"], end["result"]["_meta"][SUBSCRIPTION_ID]]
    assert ids == [request_id] * 5
    assert {type(given) for given in ids} == {type(request_id)}


async def test_a_new_resource_changes_the_list_for_those_who_asked() -> None:
    async with serving() as wire:
        listening = [wire.listen(None, core={"resourcesListChanged": flag}) for flag in (True, False)]
        async with listening[0] as asked, listening[1] as others:
            acks = [(await frames.take())["params"]["notifications"] for frames in (asked, others)]
            await wire.server.create(OTHER)
            wire.server.close()
            told = [frame.get("method") for frame in await asked.rest()]
            silent = [frame.get("method") for frame in await others.rest()]

    assert acks == [{"resourcesListChanged": True}, {}]
    assert told == ["notifications/resources/list_changed", None]
    assert silent == [None]


async def test_what_is_not_offered_is_left_out_of_the_acknowledgement(wire: Wire) -> None:
    core = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": [wire.uri]}

    async with wire.listen(None, core=core) as frames:
        ack = await frames.take()

    assert ack["params"]["notifications"] == {"resourceSubscriptions": [wire.uri]}


@requirement("SR-12.3")
async def test_a_uri_too_many_is_refused_with_the_limit_and_the_most_is_taken(binding: Binding) -> None:
    async with serving(Limits(subscription_uris=3)) as wire:
        uris = [f"build://{n}" for n in range(4)]
        async with wire.listen(binding, {uri: {} for uri in uris}) as frames:
            refused = frames.response
        core = {"resourceSubscriptions": uris[1:3]}
        async with wire.listen(binding, {uri: {} for uri in uris[:2]}, core=core) as few:
            assert len(acknowledged(binding, await few.take())) == 2

    assert refused.status_code == 400
    assert refused.json()["error"]["data"] == {"reason": "limit", "limit": "subscription_uris", "value": 3}


MALFORMED: dict[str, Any] = {
    "no filter": {},
    "a filter that is a list": {"notifications": []},
    "URIs that are no list": {"notifications": {"resourceSubscriptions": "build://7/log"}},
    "a URI that is no string": {"notifications": {"resourceSubscriptions": [7]}},
    "streams that are a list": {"notifications": {"resourceStreams": ["build://7/log"]}},
    "a stream that is a string": {"notifications": {"resourceStreams": {URI: "delta"}}},
    "an unknown delivery": {"notifications": {"resourceStreams": {URI: {"deliver": "pigeon"}}}},
    "a cursor that is a number": {"notifications": {"resourceStreams": {URI: {"since": 7}}}},
    "streams that are an empty list": {"notifications": {"resourceStreams": []}},
    "URIs that are an empty string": {"notifications": {"resourceSubscriptions": ""}},
}


@requirement("SR-7.6")
@pytest.mark.parametrize("params", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_filter_is_refused(wire: Wire, params: dict[str, Any]) -> None:
    async with wire.raw_listen({**params, "_meta": envelope()}) as frames:
        response = frames.response

    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32602


@requirement("SR-7.6")
@requirement("SR-5.6")
async def test_a_malformed_cursor_in_a_filter_is_refused_with_its_reason(wire: Wire, binding: Binding) -> None:
    async with wire.listen(binding, {wire.uri: {"since": "no cursor"}}) as frames:
        response = frames.response

    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["code"], error["data"]) == (-32602, {"reason": "invalid_cursor", "uri": wire.uri})
