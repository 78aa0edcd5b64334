"""Over stdio a connection is a session of the older era: updates come on standard output, between the answers."""

from __future__ import annotations

from typing import Any

import pytest
from requirement import requirement
from server.older import told
from server.wire import OTHER, URI, message

from .stdio_peer import Talk, talking

PUSHES = {"resources": {"subscribe": True, "listChanged": True}}


def line(method: str, params: dict[str, Any] | None = None, *, request_id: object = 1) -> bytes:
    return message(method, params or {}, request_id=request_id) + b"\n"


def initialize(*, request_id: object = 0, version: str = "2025-11-25") -> bytes:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    return line("initialize", params, request_id=request_id)


async def answered(talk: Talk, asked: bytes) -> dict[str, Any]:
    await talk.say(asked)
    return await talk.hear()


async def subscribed(talk: Talk, *uris: str) -> None:
    """Initializes and subscribes, in one go as a client in a hurry may."""
    await talk.say(initialize() + b"".join(line("resources/subscribe", {"uri": uri}) for uri in uris))
    answers = [await talk.hear() for _ in range(1 + len(uris))]
    assert answers[0]["result"]["capabilities"] == PUSHES
    assert [answer["result"] for answer in answers[1:]] == [{}] * len(uris)


async def test_what_follows_the_handshake_is_in_its_session_before_that_is_answered() -> None:
    async with talking() as talk:
        await talk.server.store.append(URI, b"x" * 1_000_000)
        await talk.say(line("resources/read", {"uri": URI}, request_id="fills the pipe") + initialize())
        await talk.say(line("resources/subscribe", {"uri": URI}))
        answers = {answer["id"]: answer for answer in [await talk.hear() for _ in range(3)]}

    assert answers[1]["result"] == {}


@requirement("SR-10.9")
async def test_updates_are_pushed_with_their_cursor_and_a_read_since_gives_the_delta() -> None:
    async with talking() as talk:
        await subscribed(talk, URI)
        await talk.server.store.append(URI, b"a")
        _, first = told(await talk.hear())
        await talk.server.store.append(URI, b"b", seal="complete")
        uri, last = told(await talk.hear())
        params = {"uri": URI, "_meta": {"dev.streamres/stream": {"since": first["cursor"]}}}
        read = await answered(talk, line("resources/read", params))
        await talk.hear_nothing_more()

    assert (uri, first["revision"], last["state"]) == (URI, 1, "complete")
    assert last["digest"].startswith("sha-256=:")
    assert read["result"]["_meta"]["dev.streamres/stream"]["delta"]["text"] == "b"


async def test_every_older_version_is_pushed_to() -> None:
    for version in ("2025-06-18", "2025-03-26", "2024-11-05"):
        async with talking() as talk:
            answer = await answered(talk, initialize(version=version))

        assert answer["result"]["protocolVersion"] == version
        assert answer["result"]["capabilities"] == PUSHES


async def test_without_a_handshake_nothing_is_pushed_and_a_subscription_is_refused() -> None:
    async with talking() as talk:
        refused = await answered(talk, line("resources/subscribe", {"uri": URI}))
        await talk.server.create(OTHER)
        await talk.hear_nothing_more()

    assert refused["error"]["code"] == -32600


async def test_the_list_is_told_and_what_is_not_subscribed_to_is_not() -> None:
    async with talking() as talk:
        await subscribed(talk)
        await talk.server.store.append(URI, b"a")
        await talk.server.create(OTHER)
        changed = await talk.hear()
        await talk.hear_nothing_more()

    assert changed["method"] == "notifications/resources/list_changed"


async def test_after_unsubscribe_nothing_is_told() -> None:
    async with talking() as talk:
        await subscribed(talk, URI)
        await talk.server.store.append(URI, b"a")
        await talk.hear()
        await answered(talk, line("resources/unsubscribe", {"uri": URI}))
        await talk.server.store.append(URI, b"b")
        await talk.hear_nothing_more()


async def test_a_second_handshake_keeps_the_session_and_every_update_comes_once() -> None:
    async with talking() as talk:
        await subscribed(talk, URI)
        again = await answered(talk, initialize())
        await talk.server.store.append(URI, b"a")
        update = told(await talk.hear())
        await talk.server.create(OTHER)
        assert (await talk.hear())["method"] == "notifications/resources/list_changed"
        await talk.hear_nothing_more()

    assert (again["id"], again["result"]["capabilities"]) == (0, PUSHES)
    assert update[1]["revision"] == 1


async def test_a_request_that_waited_since_before_the_handshake_is_answered_once_and_begins_nothing() -> None:
    async with talking() as talk:
        since = {"dev.streamres/stream": {}}
        first = await answered(talk, line("resources/read", {"uri": URI, "_meta": since}))
        cursor = first["result"]["_meta"]["dev.streamres/stream"]["cursor"]
        wait = {"uri": URI, "_meta": {"dev.streamres/stream": {"since": cursor, "waitMs": 30_000}}}
        await talk.say(line("resources/read", wait, request_id="waits"))
        await subscribed(talk, URI)
        await talk.server.store.append(URI, b"a")
        both = [await talk.hear(), await talk.hear()]
        await talk.hear_nothing_more()

    assert sorted(frame.get("id", frame.get("method")) for frame in both) == [
        "notifications/resources/updated",
        "waits",
    ]


async def test_a_fault_ends_the_session_alone_and_another_can_begin(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking() as talk:
        await subscribed(talk, URI)
        with monkeypatch.context() as patch:
            patch.setattr("streamres.protocol.messages.at_head", lambda uri, head: 1 / 0)
            await talk.server.store.append(URI, b"a")
            await talk.hear_nothing_more()
        refused = await answered(talk, line("resources/subscribe", {"uri": URI}))
        await subscribed(talk, URI)
        await talk.server.store.append(URI, b"b")
        update = told(await talk.hear())

    assert "ZeroDivisionError" in caplog.text
    assert refused["error"]["code"] == -32600
    assert update[1]["revision"] == 2


@requirement("V4")
@requirement("SR-6.4")
async def test_a_client_that_does_not_read_finds_one_update_a_resource() -> None:
    async with talking() as talk:
        await subscribed(talk, URI)
        commits = 20_000
        for number in range(commits):
            await talk.server.store.append(URI, b"x")
            if number % 10 == 0:
                await talk.until_something_comes()
        await talk.server.store.append(URI, b"", seal="aborted")
        told_of, state = 0, "open"
        while state == "open":
            told_of, state = told_of + 1, told(await talk.hear())[1]["state"]
        await talk.hear_nothing_more()

    assert state == "aborted"
    assert told_of < commits / 10


async def test_the_end_tells_the_rest_and_leaves_nothing_open() -> None:
    async with talking() as talk:
        await subscribed(talk, URI)
        await talk.server.store.append(URI, b"a")
        talk.stop_asking()
        update = told(await talk.hear())
        assert await talk.line() == b""
        await talk.until_ended()

    assert update[1]["revision"] == 1
