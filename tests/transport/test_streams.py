"""What a stream and an answer look like on the connection: headers, comments, framing, reuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from requirement import requirement
from server.wire import URI, envelope, serving

from streamres import Limits

from .raw import PING, connected, request

if TYPE_CHECKING:
    from server.wire import Wire


@requirement("T2")
async def test_a_quiet_stream_is_kept_up_by_comments_and_a_busy_one_stays_whole() -> None:
    async with serving(Limits(ping_s=0.05)) as wire, wire.listen("fields", {URI: {"deliver": "delta"}}) as frames:
        await frames.take()
        await wire.append("a")
        first = await frames.take()
        with anyio.fail_after(5):
            while frames.comments < 3:
                await wire.append("b")
                last = await frames.take()

    assert first["params"]["delta"]["text"] == "a"
    assert last["params"]["delta"]["text"] == "b"


@requirement("T2")
async def test_a_quiet_stream_alone_sends_comments_and_nothing_else() -> None:
    listen = request(
        "subscriptions/listen", {"notifications": {"resourceStreams": {URI: {}}}, "_meta": envelope()}
    )
    async with serving(Limits(ping_s=0.05)) as wire, connected(wire.url) as connection:
        await connection.send(listen)
        await connection.until(b"\n\n\r\n")

        assert [await connection.until(b"\n\n\r\n") for _ in range(3)] == [b"3\r\n:\n\n\r\n"] * 3


async def test_a_stream_says_that_nobody_may_buffer_or_change_it(wire: Wire) -> None:
    async with wire.listen("fields", {URI: {}}) as frames:
        headers = frames.response.headers

    assert headers["content-type"] == "text/event-stream"
    assert headers["x-accel-buffering"] == "no"
    assert set(headers["cache-control"].split(", ")) == {"no-cache", "no-transform"}
    assert headers["transfer-encoding"] == "chunked"
    assert "content-encoding" not in headers


async def test_events_are_one_line_of_data_with_no_id(wire: Wire) -> None:
    async with wire.listen("fields", {URI: {}}) as frames:
        raw = await anext(frames.response.aiter_raw())

    assert raw.startswith(b"data: {")
    assert raw.endswith(b"}\n\n")
    assert raw.count(b"\n") == 2


async def test_a_connection_is_used_again_after_every_kind_of_answer(wire: Wire) -> None:
    async with connected(wire.url) as connection:
        statuses = []
        for asked in (PING, PING.replace(b'"ping"', b'"nope"'), PING.replace(b"POST", b"GET"), PING):
            await connection.send(asked)
            statuses.append((await connection.response()).status)

    assert statuses == [200, 200, 405, 200]


async def test_requests_in_one_go_are_answered_one_after_the_other(wire: Wire) -> None:
    async with connected(wire.url) as connection:
        await connection.send(b"".join(PING.replace(b'"id": 1', b'"id": %d' % n) for n in range(1, 6)))

        ids = [(await connection.response()).json["id"] for _ in range(5)]

    assert ids == [1, 2, 3, 4, 5]


async def test_a_stream_that_ended_in_order_leaves_the_connection_usable() -> None:
    async with serving() as wire:
        await wire.seal(text="all")
        async with wire.listen("fields", {URI: {}}) as frames:
            await frames.rest()
            used = frames.response.extensions["network_stream"]
        again = await wire.http.post(wire.url, content=b"{}", headers={"content-type": "application/json"})

        assert again.extensions["network_stream"] is used


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, 64 * 1024 + 1, 3_000_000])
async def test_an_answer_of_any_size_is_one_json_document(size: int) -> None:
    async with serving() as wire:
        await wire.append("é" * (size // 2), "x" * (size % 2))

        answer = await wire.read(None)

    assert answer.text == "é" * (size // 2) + "x" * (size % 2)


async def test_a_request_in_single_bytes_is_served(wire: Wire) -> None:
    async with connected(wire.url) as connection:
        for n in range(len(PING)):
            await connection.send(PING[n : n + 1])

        assert (await connection.response()).status == 200
