"""One client over two pipes or two sockets: every request gets its answer, whole, whatever stands beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from requirement import requirement
from server.wire import OTHER, URI, message

from streamres import Limits

from .stdio_peer import Channel, talking


@pytest.fixture(params=["pipe", "socket"])
def channel(request: pytest.FixtureRequest) -> Channel:
    return request.param


def ping(request_id: object) -> bytes:
    return message("ping", {}, request_id=request_id)


@requirement("P1")
@pytest.mark.parametrize("size", [1, 7, 100_000], ids=["byte by byte", "in sevens", "at once"])
async def test_lines_that_come_in_any_pieces_are_answered_alike(channel: Channel, size: int) -> None:
    raw = b'{"jsonrpc":"2.0","id":"a\xe2\x80\xa8b","method":"ping"}'
    lines = b"\n".join((ping(1) + b"\r", b"", raw, b'{"jsonrpc":"2.0","method":"notifications/x"}', ping(2), b""))
    async with talking(channel) as talk:
        for at in range(0, len(lines), size):
            await talk.say(lines[at : at + size])
        answers = [await talk.hear() for _ in range(3)]
        await talk.hear_nothing_more()

    assert [answer["id"] for answer in answers] == [1, "a\u2028b", 2]


@requirement("P5")
async def test_a_line_that_the_end_cut_is_never_served(channel: Channel) -> None:
    async with talking(channel) as talk:
        await talk.say(ping(1) + b"\n" + ping(2))
        talk.stop_asking()

        assert (await talk.hear())["id"] == 1
        assert await talk.line() == b""
        await talk.until_ended()


HOSTILE: dict[str, tuple[bytes, int, dict[str, Any]]] = {
    "no JSON": (b"hello", -32700, {}),
    "bytes": (bytes(set(range(256)) - {10}), -32700, {}),
    "not UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700, {}),
    "half a message": (ping(1)[:-1], -32700, {}),
    "two messages": (ping(1) + ping(2), -32700, {}),
    "deep": (b"[" * 100_000, -32700, {}),
    "a batch": (b"[" + ping(1) + b"]", -32600, {}),
    "a response": (b'{"jsonrpc":"2.0","id":1,"result":{}}', -32600, {}),
    "an id of no kind": (message("ping", {}, request_id=1.5), -32600, {}),
    "an unknown method": (message("no/such", {}, request_id="x"), -32601, {"id": "x"}),
}


@requirement("P2")
@pytest.mark.parametrize(("line", "code", "named"), HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_line_is_refused_once_and_the_next_one_served(
    line: bytes, code: int, named: dict[str, Any]
) -> None:
    async with talking() as talk:
        await talk.say(line + b"\n")
        answer = await talk.hear()
        await talk.hear_nothing_more()

    assert answer["error"]["code"] == code
    assert {name: answer[name] for name in answer if name == "id"} == named


@requirement("P3")
async def test_a_line_over_the_limit_is_refused_by_its_name_and_skipped(channel: Channel) -> None:
    async with talking(channel, limits=Limits(body_bytes=1000)) as talk:
        await talk.say(b"x" * 1_000_000 + ping(1) + b"\n")
        answer = await talk.hear()
        await talk.hear_nothing_more()

    assert answer["error"]["data"] == {"reason": "limit", "limit": "body_bytes", "value": 1000}


@requirement("V1")
async def test_an_id_that_is_in_use_is_refused_and_its_first_request_goes_on() -> None:
    async with talking() as talk:
        await talk.listen(request_id=1)
        await talk.hear()
        await talk.say(ping(1) + b"\n")
        answer = await talk.hear()
        await talk.server.store.append(URI, b"x")
        update = await talk.hear()
        await talk.say(ping("1") + b"\n")
        other = await talk.hear()

    assert (answer["id"], answer["error"]["code"]) == (1, -32600)
    assert update["params"]["delta"]["text"] == "x"
    assert other["result"] == {}


@requirement("T3")
async def test_more_requests_that_wait_than_the_limit_are_refused() -> None:
    async with talking(limits=Limits(requests=1)) as talk:
        await talk.listen(request_id=1)
        await talk.hear()
        await talk.listen(request_id=2)
        refused = await talk.hear()
        await talk.cancel(1)
        await talk.listen(request_id=3)
        acknowledged = await talk.hear()

    assert (refused["id"], refused["error"]["data"]["limit"]) == (2, "requests")
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"


@requirement("V1")
async def test_a_big_answer_and_everything_beside_it_come_whole(channel: Channel) -> None:
    text = "".join(f"{number} é\u2028\x00\n" for number in range(200_000))
    async with talking(channel) as talk:
        await talk.server.store.append(URI, text.encode())
        await talk.server.create(OTHER)
        await talk.listen(request_id=0, resourceStreams={OTHER: {"deliver": "delta"}})
        for request_id in range(1, 4):
            await talk.read(request_id=request_id)
            await talk.say(ping(f"p{request_id}") + b"\n")
        await talk.server.store.append(OTHER, b"live")
        frames = [json.loads(await talk.line()) for _ in range(8)]

    answers = {frame["id"]: frame["result"] for frame in frames if "id" in frame}
    assert sorted(map(str, answers)) == ["1", "2", "3", "p1", "p2", "p3"]
    assert all(answers[request_id]["contents"][0]["text"] == text for request_id in range(1, 4))
    assert [frame["params"].get("delta", {}).get("text") for frame in frames if "method" in frame] == [
        None,
        "live",
    ]
