"""Waiting, cancelling and ending over stdio: nobody is held up, and nothing comes after the end of anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement
from server.wire import URI, WatchedStore

from streamres import Limits, Server

from .stdio_peer import Channel, Talk, talking

if TYPE_CHECKING:
    from streamres.model import Entry


@pytest.fixture(params=["pipe", "socket"])
def channel(request: pytest.FixtureRequest) -> Channel:
    return request.param


async def cursor_of(talk: Talk) -> str:
    await talk.read(request_id="cursor", maxBytes=1)
    return (await talk.hear())["result"]["cursor"]


@requirement("V4")
async def test_a_read_that_waits_and_a_subscription_hold_up_nobody() -> None:
    store = WatchedStore()
    async with talking(server=Server("tested", store=store)) as talk:
        since = await cursor_of(talk)
        await talk.read(request_id="waiting", since=since, waitMs=30_000)
        await store.until_watched_by(1)
        await talk.listen(request_id="listening")
        acknowledgement = await talk.hear()
        await talk.hear_nothing_more()

        await store.append(URI, b"news")
        frames = {frame.get("id"): frame for frame in [await talk.hear(), await talk.hear()]}

    assert acknowledgement["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "listening"
    assert frames["waiting"]["result"]["delta"]["text"] == "news"
    assert frames[None]["params"]["delta"]["text"] == "news"


@requirement("T1")
@pytest.mark.parametrize("kind", ["read", "listen"])
async def test_a_request_that_is_cancelled_stops_and_nothing_is_sent_for_it(kind: str) -> None:
    store = WatchedStore()
    async with talking(server=Server("tested", store=store)) as talk:
        since = await cursor_of(talk)
        if kind == "read":
            await talk.read(request_id=7, since=since, waitMs=30_000)
        else:
            await talk.listen(request_id=7)
            await talk.hear()
        await store.until_watched_by(1)

        await talk.cancel(7)

        await store.until_watched_by(0)
        await store.append(URI, b"news")
        await talk.hear_nothing_more()


@requirement("T1")
async def test_a_cancellation_right_behind_its_request_reaches_it() -> None:
    store = WatchedStore()
    async with talking(server=Server("tested", store=store)) as talk:
        for request_id in range(50):
            await talk.listen(request_id=request_id)
            await talk.cancel(request_id)
        await talk.say(b'{"jsonrpc":"2.0","id":"last","method":"ping"}\n')
        heard = [await talk.hear()]
        while heard[-1].get("id") != "last":
            heard.append(await talk.hear())

        await store.until_watched_by(0)
        await store.append(URI, b"news")
        await talk.hear_nothing_more()

    assert all("acknowledged" in frame["method"] for frame in heard[:-1])


@pytest.mark.parametrize("named", [1, "2", None, [7], True, "unknown"], ids=repr)
async def test_a_cancellation_of_another_request_or_of_none_changes_nothing(named: object) -> None:
    async with talking() as talk:
        await talk.listen(request_id="1")
        await talk.listen(request_id=2)
        await talk.hear()
        await talk.hear()

        await talk.cancel(named)
        await talk.hear_nothing_more()
        await talk.server.store.append(URI, b"x")

        assert len([await talk.hear(), await talk.hear()]) == 2


@requirement("V1")
async def test_at_the_end_of_input_waits_are_answered_and_subscriptions_get_their_result(channel: Channel) -> None:
    async with talking(channel) as talk:
        await talk.listen(request_id="listening")
        await talk.hear()
        await talk.read(request_id="waiting", since=await cursor_of(talk), waitMs=30_000)
        talk.stop_asking()

        ends = {frame["id"]: frame["result"]["resultType"] for frame in [await talk.hear(), await talk.hear()]}

        assert ends == {"listening": "complete", "waiting": "complete"}
        assert await talk.line() == b""
        await talk.until_ended()


@requirement("T1")
async def test_a_peer_that_closes_its_end_of_a_quiet_output_ends_everything(channel: Channel) -> None:
    store = WatchedStore()
    async with talking(channel, server=Server("tested", store=store)) as talk:
        await talk.listen(request_id=1)
        await talk.hear()

        talk.stop_listening()

        await talk.until_ended()
        assert store.watchers == 0


@requirement("T1")
async def test_a_peer_that_goes_in_the_middle_of_an_answer_ends_everything(channel: Channel) -> None:
    async with talking(channel) as talk:
        await talk.server.store.append(URI, b"x" * 8_000_000)
        await talk.read()
        await talk.until_something_comes()

        talk.stop_listening()

        await talk.until_ended()


@requirement("V4")
@requirement("T3")
async def test_a_peer_that_does_not_read_holds_up_itself_only(channel: Channel) -> None:
    async with talking(channel) as slow:
        await slow.server.store.append(URI, b"x" * 8_000_000)
        for request_id in range(3):
            await slow.read(request_id=request_id)
        await slow.until_something_comes()

        async with talking(channel, server=slow.server) as quick:
            await quick.hear_nothing_more()
            await quick.read()
            assert len((await quick.hear())["result"]["contents"][0]["text"]) == 8_000_000

        assert [(await slow.hear())["id"] for _ in range(3)] == [0, 1, 2]


class Failing(WatchedStore):
    """Cannot say where a resource stands."""

    async def entry(self, uri: str) -> Entry:
        raise OSError("the disk is gone")


@requirement("V1")
async def test_a_subscription_that_fails_is_answered_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with talking(server=Server("tested", store=Failing())) as talk:
        await talk.listen(request_id=1, resourcesListChanged=True)
        await talk.hear()
        await talk.listen(request_id=2)
        answer = await talk.hear()
        await talk.hear_nothing_more()

    assert (answer["id"], answer["error"]["code"]) == (2, -32603)
    assert "the disk" not in str(answer)
    assert "a request failed" in caplog.text


@requirement("T3")
async def test_a_peer_that_reads_no_more_is_not_waited_for_long(
    channel: Channel,
) -> None:
    async with talking(channel, limits=Limits(grace_s=0.05)) as talk:
        await talk.server.store.append(URI, b"x" * 8_000_000)
        for request_id in range(3):
            await talk.read(request_id=request_id)
        await talk.until_something_comes()

        talk.stop_asking()

        await talk.until_ended()
