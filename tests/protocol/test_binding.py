"""Where the members of the extension are looked for in a request: used in `_meta`, in the open, or declared."""

from __future__ import annotations

from typing import Any

import pytest
from requirement import requirement

from streamres.errors import CursorInvalid, InvalidParams
from streamres.protocol.binding import Form, ReadRequest, StreamFilter, binding_of, listen_request, read_request

URI = "build://7/log"
STREAM = "dev.streamres/stream"
EXTENSION = "dev.streamres/streamable-resources"


def declaring(settings: object) -> dict[str, Any]:
    return {"io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: settings}}}


FIELDS = declaring({"binding": "fields"})
META = declaring({"binding": "meta"})

PLACES: dict[str, tuple[dict[str, Any], ReadRequest]] = {
    "none": ({}, ReadRequest(binding=None)),
    "an empty _meta": ({"_meta": {}}, ReadRequest(binding=None)),
    "a _meta of the wrong type": ({"_meta": 7}, ReadRequest(binding=None)),
    "declared fields": ({"_meta": FIELDS}, ReadRequest(binding="fields")),
    "declared meta": ({"_meta": META}, ReadRequest(binding="meta")),
    "declared without a setting": ({"_meta": declaring({})}, ReadRequest(binding="fields")),
    "declared as null": ({"_meta": declaring(None)}, ReadRequest(binding=None)),
    "used in the open": ({"since": "c"}, ReadRequest(binding="fields", since="c")),
    "used in the open as null": ({"since": None}, ReadRequest(binding="fields")),
    "used in meta": ({"_meta": {STREAM: {"since": "c"}}}, ReadRequest(binding="meta", since="c")),
    "used in meta without a member": ({"_meta": {STREAM: {}}}, ReadRequest(binding="meta")),
    "null in meta": ({"_meta": {STREAM: None}}, ReadRequest(binding=None)),
    "used in meta, declared fields": (
        {"_meta": {**FIELDS, STREAM: {"since": "c"}}},
        ReadRequest(binding="meta", since="c"),
    ),
    "used in the open, declared meta": ({"since": "c", "_meta": META}, ReadRequest(binding="fields", since="c")),
    "used in both": (
        {"since": "open", "maxBytes": 1, "_meta": {STREAM: {"since": "meta"}}},
        ReadRequest(binding="meta", since="meta"),
    ),
    "every member": (
        {"since": "c", "maxBytes": 1, "waitMs": 0},
        ReadRequest(binding="fields", since="c", max_bytes=1, wait_ms=0),
    ),
    "unknown members": ({"_meta": {STREAM: {"speed": 9}}, "color": 1}, ReadRequest(binding="meta")),
}


@requirement("SR-10.8")
@requirement("SR-10.5")
@requirement("P4")
@pytest.mark.parametrize(("params", "expected"), PLACES.values(), ids=PLACES)
def test_a_read_asks_where_its_members_stand(params: dict[str, Any], expected: ReadRequest) -> None:
    assert read_request({"uri": URI, **params}) == expected


@requirement("SR-10.5")
@pytest.mark.parametrize(("params", "expected"), PLACES.values(), ids=PLACES)
def test_a_request_without_members_of_its_own_is_answered_where_meta_says(
    params: dict[str, Any], expected: ReadRequest
) -> None:
    only_meta = {name: value for name, value in params.items() if name == "_meta"}

    assert binding_of(only_meta) == read_request({"uri": URI, **only_meta}).binding


@requirement("SR-10.2")
@requirement("SR-10.3")
def test_a_filter_is_looked_for_in_notifications_or_in_meta() -> None:
    streams = {URI: {"since": "c", "deliver": "delta"}, "build://8": {}}
    expected = {URI: StreamFilter(since="c", deliver="delta"), "build://8": StreamFilter()}

    assert listen_request({"notifications": {"resourceStreams": streams}}) == (Form("fields"), expected)
    in_meta = {"notifications": {}, "_meta": {STREAM: {"resourceStreams": streams}}}
    assert listen_request(in_meta) == (Form("meta"), expected)
    assert listen_request({"notifications": {}, "_meta": META}) == (Form("meta"), {})
    assert listen_request({"notifications": {}}) == (Form(), {})


MALFORMED: dict[str, dict[str, Any]] = {
    "maxBytes a string": {"maxBytes": "1"},
    "maxBytes zero": {"maxBytes": 0},
    "maxBytes true": {"maxBytes": True},
    "maxBytes a float": {"maxBytes": 1e30},
    "waitMs negative": {"waitMs": -1},
    "tailBytes negative": {"tailBytes": -1},
    "tailBytes with since": {"tailBytes": 1, "since": "c"},
}


@requirement("P2")
@pytest.mark.parametrize("members", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_member_is_refused_in_either_place(members: dict[str, Any]) -> None:
    for params in (members, {"_meta": {STREAM: members}}):
        with pytest.raises(InvalidParams):
            read_request({"uri": URI, **params})


@requirement("P2")
@pytest.mark.parametrize(
    "settings", ["meta", 7, [], {"binding": "uri"}, {"binding": None}, {"binding": ["meta"]}], ids=repr
)
def test_a_malformed_declaration_is_refused(settings: object) -> None:
    with pytest.raises(InvalidParams):
        read_request({"uri": URI, "_meta": declaring(settings)})


@requirement("SR-5.6.a")
@pytest.mark.parametrize("since", [1, True, [], {}], ids=repr)
def test_a_cursor_that_is_no_string_is_an_invalid_cursor(since: object) -> None:
    for params in ({"since": since}, {"_meta": {STREAM: {"since": since}}}):
        with pytest.raises(CursorInvalid) as caught:
            read_request({"uri": URI, **params})

        assert caught.value.uri == URI


@requirement("SR-2.5")
@requirement("SR-10.6")
@pytest.mark.parametrize(("wanted", "append_op"), [(None, False), ([], False), (["append"], True), (["x"], False)])
def test_the_operation_append_is_for_those_that_declare_it(wanted: object, append_op: bool) -> None:
    settings = {"binding": "meta"} if wanted is None else {"binding": "meta", "patchOps": wanted}
    meta = declaring(settings)

    assert read_request({"uri": URI, "_meta": meta}).append_op == append_op
    assert read_request({"uri": URI, "since": "c", "_meta": meta}).append_op == append_op
    assert listen_request({"notifications": {}, "_meta": meta})[0] == Form("meta", append_op)


@requirement("P2")
@pytest.mark.parametrize("wanted", ["append", {"append": True}, 7, True], ids=repr)
def test_operations_that_are_no_list_are_refused(wanted: object) -> None:
    meta = declaring({"binding": "meta", "patchOps": wanted})

    with pytest.raises(InvalidParams):
        read_request({"uri": URI, "_meta": meta})
