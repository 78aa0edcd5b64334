"""A server is a stranger: what it answers is taken, refused with one error, or said to be lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from requirement import requirement

from streamres import Client, ConnectionLost, CursorInvalid, ProtocolError, ResourceNotFound, RpcError

from .lying import READ, acknowledged, error, lying, raw_json, result, sse, updated

if TYPE_CHECKING:
    from .lying import Answer

URI = "build://7/log"


def without(member: str) -> dict[str, Any]:
    return {name: value for name, value in READ.items() if name != member}


def delta(**members: object) -> dict[str, Any]:
    step = {"from": "c0", "to": "c1", "kind": "text", "text": "x", **members}
    return {**READ, "contents": [], "delta": {name: value for name, value in step.items() if value is not ...}}


MALFORMED: dict[str, Answer] = {
    "nothing": lambda r: raw_json(b""),
    "no JSON": lambda r: raw_json(b"<html>"),
    "JSON of another kind": lambda r: raw_json(b"[]"),
    "a cut document": lambda r: raw_json(b'{"jsonrpc":"2.0","id":1,"resu'),
    "neither result nor error": lambda r: raw_json(b'{"jsonrpc":"2.0","id":1}'),
    "a result that is a list": lambda r: result(r, []),
    "an error that is a string": lambda r: raw_json(b'{"jsonrpc":"2.0","id":1,"error":"no"}'),
    "a page of a proxy": lambda r: raw_json(b"<html>", status="404 Not Found"),
    "no cursor": lambda r: result(r, without("cursor")),
    "no revision": lambda r: result(r, without("revision")),
    "no state": lambda r: result(r, without("state")),
    "no contents": lambda r: result(r, without("contents")),
    "a cursor that is a number": lambda r: result(r, {**READ, "cursor": 7}),
    "a cursor that is null": lambda r: result(r, {**READ, "cursor": None}),
    "a revision that is a word": lambda r: result(r, {**READ, "revision": "one"}),
    "a revision that is null": lambda r: result(r, {**READ, "revision": None}),
    "a revision without end": lambda r: raw_json(
        b'{"jsonrpc":"2.0","id":1,"result":{"contents":[],"cursor":"c","revision":1e999,"state":"open"}}'
    ),
    "an unknown state": lambda r: result(r, {**READ, "state": "asleep"}),
    "a state that is a list": lambda r: result(r, {**READ, "state": []}),
    "contents that are null": lambda r: result(r, {**READ, "contents": None}),
    "contents that are strings": lambda r: result(r, {**READ, "contents": ["text"]}),
    "a text that is a number": lambda r: result(r, {**READ, "contents": [{"text": 7}]}),
    "a blob that is no base64": lambda r: result(r, {**READ, "contents": [{"blob": "A*=="}]}),
    "a delta that is null": lambda r: result(r, {**READ, "delta": None}),
    "a delta that is a list": lambda r: result(r, {**READ, "delta": []}),
    "a delta without a text": lambda r: result(r, delta(text=...)),
    "a delta without a beginning": lambda r: result(r, delta(**{"from": ...})),
    "a delta of another kind": lambda r: result(r, delta(kind="json")),
    "a cause that is a string": lambda r: result(r, delta(cause="steer-1")),
    "a cause that is null": lambda r: result(r, delta(cause=None)),
    "a cause of numbers": lambda r: result(r, delta(cause=[7])),
    "a stream of no JSON": lambda r: sse(b"data: hello\n\n"),
}


@requirement("P2")
@pytest.mark.parametrize("answer", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_answer_to_a_read_is_a_protocol_error(answer: Answer) -> None:
    async with lying(answer) as url, Client(url) as client:
        with anyio.fail_after(5), pytest.raises(ProtocolError):
            await client.read(URI)


LISTS: dict[str, object] = {
    "resources that are null": {"resources": None},
    "resources that are a number": {"resources": 7},
    "resources that are a string": {"resources": "build"},
    "an entry that is null": {"resources": [None]},
    "an entry without a URI": {"resources": [{"name": "n"}]},
    "a URI that is a number": {"resources": [{"uri": 7, "name": "n"}]},
    "a stream that is a string": {"resources": [{"uri": URI, "name": "n", "stream": "s"}]},
    "an unknown state": {"resources": [{"uri": URI, "name": "n", "stream": {"state": "asleep"}}]},
}


@requirement("P2")
@pytest.mark.parametrize("members", LISTS.values(), ids=LISTS)
async def test_a_malformed_list_is_a_protocol_error(members: object) -> None:
    async with lying(lambda request: result(request, members)) as url, Client(url) as client:
        with anyio.fail_after(5), pytest.raises(ProtocolError):
            await client.list()


async def test_a_next_cursor_that_is_null_is_the_last_page() -> None:
    page = {"resources": [{"uri": URI, "name": "n"}], "nextCursor": None}
    async with lying(lambda request: result(request, page)) as url, Client(url) as client:
        with anyio.fail_after(5):
            entries = await client.list()

    assert [entry.uri for entry in entries] == [URI]


async def listen_to(answer: Answer, since: str | None = None) -> list[object]:
    async with lying(answer) as url, Client(url) as client:
        with anyio.fail_after(5):
            async with client.listen({URI: since}) as stream:
                return [event async for event in stream]


STREAMS: dict[str, Answer] = {
    "a plain answer": lambda r: result(r, {}),
    "no acknowledgement first": lambda r: sse(updated()),
    "no JSON": lambda r: sse(acknowledged(r), b"data: {\n\n"),
    "a list": lambda r: sse(acknowledged(r), []),
    "an update without a URI": lambda r: sse(acknowledged(r), {**updated(), "params": {}}),
    "a cursor that is a number": lambda r: sse(acknowledged(r), updated(cursor=7, revision=1, state="open")),
    "a delta that is a string": lambda r: sse(
        acknowledged(r), updated(cursor="c", revision=1, state="open", delta="")
    ),
}


@requirement("P2")
@pytest.mark.parametrize("answer", STREAMS.values(), ids=STREAMS)
async def test_a_malformed_subscription_is_a_protocol_error(answer: Answer) -> None:
    with pytest.raises(ProtocolError):
        await listen_to(answer)


END = {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete"}}


@requirement("P4")
@pytest.mark.parametrize(
    "noise",
    [
        b": comment\n\n",
        b"\n\n\n",
        b"retry: 1000\n\n",
        b"id: 7\n\n",
        b"event: ping\n\n",
        b"id: 7\ndata:\n\n",
        {"jsonrpc": "2.0", "method": "notifications/unknown", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/message"},
    ],
    ids=["comment", "blank lines", "retry", "id", "event", "no data", "unknown notification", "no params"],
)
async def test_what_is_no_message_for_the_reader_is_passed_over(noise: object) -> None:
    events = await listen_to(lambda request: sse(acknowledged(request), noise, updated(), END))

    assert len(events) == 1


@requirement("P5")
@pytest.mark.parametrize("whole", [True, False], ids=["closed", "cut"])
async def test_a_stream_without_its_result_is_lost(whole: bool) -> None:
    with pytest.raises(ConnectionLost):
        await listen_to(lambda request: sse(acknowledged(request), updated(), whole=whole))


@requirement("P5")
async def test_a_message_cut_by_the_end_of_the_stream_is_not_delivered() -> None:
    with pytest.raises(ConnectionLost):
        await listen_to(
            lambda request: sse(acknowledged(request), b'data: {"jsonrpc":"2.0","id":1,"result":{}}\n')
        )


REFUSALS: dict[str, tuple[int, object, type[Exception]]] = {
    "unknown": (-32602, {"uri": URI}, ResourceNotFound),
    "unknown, older code": (-32002, None, ResourceNotFound),
    "a bad cursor": (-32602, {"reason": "invalid_cursor", "uri": URI}, CursorInvalid),
    "anything else": (-32602, {"reason": "limit"}, RpcError),
    "no data": (-32603, None, RpcError),
    "data that is a list": (-32602, [1], RpcError),
}


@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request", "404 Not Found"])
@pytest.mark.parametrize(("code", "data", "expected"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_the_exception_that_it_means_at_any_status(
    code: int, data: object, expected: type[Exception], status: str
) -> None:
    async with lying(lambda request: error(request, code, data=data, status=status)) as url, Client(url) as client:
        with anyio.fail_after(5), pytest.raises(expected):
            await client.read(URI)


async def test_a_bad_cursor_in_a_subscription_is_the_same_exception() -> None:
    data = {"reason": "invalid_cursor", "uri": URI}
    with pytest.raises(CursorInvalid):
        await listen_to(lambda request: error(request, -32602, data=data, status="400 Bad Request"), "no cursor")


@pytest.mark.parametrize("status", ["429 Too Many Requests", "502 Bad Gateway", "503 Service Unavailable"])
async def test_a_status_that_passes_is_a_lost_connection(status: str) -> None:
    async with lying(lambda request: raw_json(b"<html>", status=status)) as url, Client(url) as client:
        with anyio.fail_after(5), pytest.raises(ConnectionLost):
            await client.read(URI)
