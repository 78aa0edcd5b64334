"""One message a body; whatever else comes raises one of two errors, and costs nothing (P2, P3)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.errors import InvalidRequest, ParseError
from streamres.protocol.jsonrpc import Notification, Request, error, parse, request_id_of, result

REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

NOT_JSON = {
    "nothing": b"",
    "a cut object": b'{"jsonrpc":"2.0","id":1,"method":"pi',
    "two messages": b'{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0","id":2,"method":"b"}',
    "two lines": b'{"jsonrpc":"2.0","id":1,"method":"a"}\n{"jsonrpc":"2.0","id":2,"method":"b"}',
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":NaN}}',
    "Infinity": b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":-Infinity}}',
    "not UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
    "UTF-16": json.dumps(REQUEST).encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(REQUEST).encode(),
    "a lone surrogate": b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
    "an encoded surrogate": b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}',
    "a raw control character": b'{"jsonrpc":"2.0","id":1,"method":"a\x00"}',
    "lists without end": b"[" * 1_000_000,
    "objects without end": b'{"a":' * 1_000_000,
    "deep nesting that is whole": b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":'
    + b"[" * 9_999
    + b"]" * 9_999
    + b"}}",
    "a trailing comma": b'{"jsonrpc":"2.0","id":1,"method":"a",}',
    "single quotes": b"{'jsonrpc':'2.0'}",
}


@requirement("P2")
@requirement("P5")
@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_not_json_is_a_parse_error(body: bytes) -> None:
    with pytest.raises(ParseError):
        parse(body)

    assert request_id_of(body) is None


NOT_A_MESSAGE: dict[str, object] = {
    "a batch": [REQUEST, REQUEST],
    "an empty batch": [],
    "a batch of one": [REQUEST],
    "a string": "ping",
    "null": None,
    "a number": 7,
    "an empty object": {},
    "no version": {"id": 1, "method": "ping"},
    "another version": {**REQUEST, "jsonrpc": "1.0"},
    "the version as a number": {**REQUEST, "jsonrpc": 2.0},
    "a result": {"jsonrpc": "2.0", "id": 1, "result": {}},
    "an error": {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}},
    "no method": {"jsonrpc": "2.0", "id": 1},
    "a method that is a number": {**REQUEST, "method": 7},
    "a method that is null": {**REQUEST, "method": None},
    "an id that is null": {**REQUEST, "id": None},
    "an id that is true": {**REQUEST, "id": True},
    "an id with a fraction": {**REQUEST, "id": 1.5},
    "an id that is a list": {**REQUEST, "id": [1]},
    "an id that is an object": {**REQUEST, "id": {}},
    "an id past 64 bits": {**REQUEST, "id": 2**64},
    "params that are a list": {**REQUEST, "params": []},
    "params that are null": {**REQUEST, "params": None},
    "params that are a string": {**REQUEST, "params": "x"},
}


@requirement("P2")
@pytest.mark.parametrize("message", NOT_A_MESSAGE.values(), ids=NOT_A_MESSAGE)
def test_what_is_not_one_message_is_an_invalid_request(message: object) -> None:
    with pytest.raises(InvalidRequest):
        parse(json.dumps(message).encode())


@requirement("P2")
@pytest.mark.parametrize("number", [b"1e400", b"-1e400", b"1" * 5_000, b"0." + b"1" * 5_000], ids=len)
def test_a_huge_number_is_no_infinity_and_no_work(number: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":%b}}' % number
    try:
        message = parse(body)
    except ParseError:
        return

    assert message.params["x"] not in (float("inf"), float("-inf"))


@requirement("P4")
def test_unknown_members_are_ignored() -> None:
    body = json.dumps({**REQUEST, "trace": [1], "params": {"x": 1}}).encode()

    assert parse(body) == Request(1, "ping", {"x": 1})


@pytest.mark.parametrize("request_id", ["", "1", "\x00", "😀", 0, -1, 2**53, 2**63 - 1, -(2**63)], ids=repr)
def test_an_id_comes_back_as_it_was(request_id: str | int) -> None:
    message = parse(json.dumps({**REQUEST, "id": request_id}).encode())

    assert isinstance(message, Request)
    answers = [result(message.id, {}), error(message.id, -1, "", None)]
    assert [json.loads(answer)["id"] for answer in answers] == [request_id] * 2
    assert type(json.loads(answers[0])["id"]) is type(request_id)


def test_a_message_without_an_id_is_a_notification() -> None:
    assert parse(b'{"jsonrpc":"2.0","method":"n"}') == Notification("n", {})


def test_an_error_whose_request_is_unknown_has_no_id() -> None:
    assert set(json.loads(error(None, -32700, "what?", None))) == {"jsonrpc", "error"}


@requirement("P2")
@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_are_a_message_or_one_of_two_errors(body: bytes) -> None:
    try:
        message = parse(body)
    except (ParseError, InvalidRequest):
        return
    assert isinstance(message, Request | Notification)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.fixed_dictionaries(
    {}, optional={"jsonrpc": st.just("2.0") | JSON, "id": JSON, "method": st.text() | JSON, "params": JSON}
)


@requirement("P2")
@given(MESSAGES)
@settings(deadline=None)
def test_any_object_is_a_message_or_one_of_two_errors(message: dict[str, object]) -> None:
    body = json.dumps(message).encode()
    try:
        parsed = parse(body)
    except (ParseError, InvalidRequest):
        return
    assert parsed.method == message["method"]
    assert not isinstance(parsed, Request) or parsed.id == message["id"] == request_id_of(body)
