"""Updates pushed to clients of the older era: a session, what it subscribed to, and its stream (SR-10.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres import Limits

from .older import OLDER, Clock, Older, begun, serving_by, told, until_nobody_streams
from .wire import OTHER, STREAM, SUBSCRIPTION_ID, URI, VERSION, WatchedStore, serving

if TYPE_CHECKING:
    from .wire import Wire

LIST_CHANGED = {"jsonrpc": "2.0", "method": "notifications/resources/list_changed", "params": {}}


@requirement("SR-10.9")
@pytest.mark.parametrize("version", OLDER)
async def test_initialize_gives_a_session_and_says_that_updates_are_pushed(wire: Wire, version: str) -> None:
    client = Older(wire, version=version)

    answer = await client.initialize()

    assert answer["result"]["capabilities"] == {"resources": {"subscribe": True, "listChanged": True}}
    assert client.session is not None
    assert len(client.session) >= 22
    assert all("!" <= char <= "~" for char in client.session)


async def test_the_version_whose_transport_knows_no_session_gets_none(wire: Wire) -> None:
    client = Older(wire, version="2024-11-05")

    answer = await client.initialize()

    assert client.session is None
    assert answer["result"]["capabilities"] == {"resources": {}}


async def test_every_session_has_an_id_of_its_own_whatever_the_handshake_names(wire: Wire) -> None:
    first = await begun(wire)
    second = Older(wire, first.session)
    await second.initialize()
    lost = Older(wire, "of another life of the server")
    await lost.initialize()

    assert len({first.session, second.session, lost.session}) == 3
    assert None not in (second.session, lost.session)


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
async def test_what_changed_between_the_subscription_and_the_stream_is_told_when_the_stream_opens(
    wire: Wire,
) -> None:
    client = await begun(wire)
    await client.subscribe()
    await wire.append("a", "b", "c")
    async with client.stream() as frames:
        first = told(await frames.take())
        await wire.append("d")
        second = told(await frames.take())

    assert (first[1]["revision"], second[1]["revision"]) == (3, 4)


@requirement("SR-10.9")
async def test_a_new_stream_tells_again_what_the_stream_before_was_sent_and_what_it_missed(wire: Wire) -> None:
    await wire.server.create(other := f"{wire.uri}/2")
    client = await begun(wire)
    await client.subscribe(wire.uri, other)
    async with client.stream() as frames:
        await wire.append("a")
        await frames.take()  # it was sent; whether it was taken, the server cannot know
    await wire.append("b", uri=other)
    async with client.stream() as frames:
        again = [told(await frames.take()) for _ in range(2)]
        await wire.append("c")
        live = told(await frames.take())

    assert [(uri, members["revision"]) for uri, members in again] == [(wire.uri, 1), (other, 1)]
    assert (live[0], live[1]["revision"]) == (wire.uri, 2)


@requirement("SR-10.9")
async def test_of_two_streams_the_older_ends_and_the_newer_is_told() -> None:
    async with serving() as wire:
        client = await begun(wire)
        await client.subscribe()
        async with client.stream() as older:
            await wire.append("a")
            await older.take()
            async with client.stream() as newer:
                assert await older.next() is None, "the older stream went on"
                assert told(await newer.take())[1]["revision"] == 1
                async with client.stream() as newest:
                    assert await newer.next() is None
                    await newest.take()
                    await wire.append("b")
                    assert told(await newest.take())[1]["revision"] == 2


@requirement("SR-10.9")
async def test_the_end_of_the_server_tells_the_rest_and_ends_the_newer_of_two_streams() -> None:
    async with serving() as wire:
        client = await begun(wire)
        await client.subscribe()
        async with client.stream() as older, client.stream() as newer:
            assert await older.next() is None
            await wire.append("a")
            await newer.take()
            await wire.append("b")
            wire.server.close()
            rest = await newer.rest()

    assert [told(frame)[1]["revision"] for frame in rest] == [2]


@requirement("SR-10.9")
async def test_the_end_of_the_server_ends_a_stream_that_took_the_place_of_another() -> None:
    async with serving() as wire:
        client = await begun(wire)
        async with client.stream() as older, client.stream() as newer:
            assert await older.next() is None
            wire.server.close()

            assert await newer.rest() == []


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


async def test_after_unsubscribe_nothing_is_told_of_it_on_any_stream(wire: Wire) -> None:
    await wire.server.create(other := f"{wire.uri}/2")
    client = await begun(wire)
    await client.subscribe(wire.uri, other)
    await wire.append("marked")
    async with client.stream() as frames:
        await frames.take()
        await client.unsubscribe(wire.uri)
        await wire.append("unheard")
        await wire.append("a", uri=other)
        live = told(await frames.take())
    async with client.stream() as frames:
        again = told(await frames.take())
        await wire.append("b", uri=other)
        then = told(await frames.take())

    assert [uri for uri, _ in (live, again, then)] == [other] * 3


async def test_what_is_marked_when_it_is_unsubscribed_is_not_told(wire: Wire) -> None:
    await wire.server.create(other := f"{wire.uri}/2")
    client = await begun(wire)
    await client.subscribe(wire.uri, other)
    await wire.append("a")
    await wire.append("a", uri=other)
    await client.unsubscribe(wire.uri)
    await client.unsubscribe("build://never-subscribed")
    async with client.stream() as frames:
        assert told(await frames.take())[0] == other


async def test_a_subscription_that_is_made_again_tells_nothing_from_before_it(wire: Wire) -> None:
    await wire.server.create(other := f"{wire.uri}/2")
    client = await begun(wire)

    async def again() -> None:
        await client.unsubscribe(wire.uri)
        await client.subscribe(wire.uri)

    await client.subscribe(wire.uri, other)
    await wire.append("marked")
    await again()
    await wire.append("a", uri=other)
    async with client.stream() as frames:
        first = told(await frames.take())
        await wire.append("told")
        await frames.take()
        await again()
    await wire.append("b", uri=other)
    async with client.stream() as frames:
        second = told(await frames.take())
        await wire.append("told too")
        third = told(await frames.take())

    assert [(uri, members["revision"]) for uri, members in (first, second, third)] == [
        (other, 1),
        (other, 2),
        (wire.uri, 3),
    ]


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


@pytest.mark.parametrize("ended", ["deleted", "never begun"])
@requirement("SR-10.9")
async def test_a_session_that_is_not_there_is_404_for_every_message(wire: Wire, ended: str) -> None:
    client = await begun(wire)
    if ended == "deleted":
        assert (await client.request("DELETE")).status_code == 200
    else:
        client.session = "x" * 32

    requests = [
        await client.post("resources/read", {"uri": wire.uri}),
        await client.post("resources/subscribe", {"uri": wire.uri}),
        await client.post("ping"),
        await client.post("no/such/method"),
        await client.request("GET"),
        await client.request("DELETE"),
    ]

    assert {(answer.status_code, answer.json()["error"]["code"]) for answer in requests} == {(404, -32001)}
    assert requests[0].json()["id"] == 1
    body = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    notified = await wire.post(body, {"content-type": "application/json", **client.headers})
    assert notified.status_code == 404
    await client.initialize()
    await client.subscribe()


async def test_delete_ends_the_stream_and_the_watching() -> None:
    store = WatchedStore()
    async with serving(store=store) as wire:
        client = await begun(wire)
        await client.subscribe()
        async with client.stream() as frames:
            await wire.append("a")
            await frames.take()
            await client.request("DELETE")
            assert await frames.next() is None

        await store.until_watched_by(0)


async def test_the_end_of_the_server_leaves_nothing_watching() -> None:
    store = WatchedStore()
    async with serving(store=store) as wire:
        await (await begun(wire)).subscribe()
        await begun(wire)
        assert store.watchers == 2

    assert store.watchers == 0


async def test_without_a_session_list_and_read_go_on_and_get_and_delete_are_405(wire: Wire) -> None:
    await begun(wire)
    client = Older(wire)
    await wire.append("text")

    read = await client.ask("resources/read", {"uri": wire.uri})
    listed = await client.ask("resources/list")

    assert read["result"]["contents"][0]["text"] == "text"
    assert listed["result"]["resources"]
    for http_method in ("GET", "DELETE"):
        answer = await client.request(http_method)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_the_new_era_knows_no_session_and_no_get(wire: Wire) -> None:
    client = await begun(wire)
    client.version = VERSION

    for http_method in ("GET", "DELETE"):
        assert (await client.request(http_method)).status_code == 405

    client.version = OLDER[0]
    await client.subscribe()  # it is there still


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
