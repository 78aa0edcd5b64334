"""Patches on a document: what RFC 6902 says, `append` beside it, whole or not at all, and within the limits."""

from __future__ import annotations

import json
import time
import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.errors import DeltaError, LimitExceeded
from streamres.limits import Limits
from streamres.model import Position, ResourceLog, Snapshot
from streamres.model.document import Document
from streamres.model.json_content import JsonContent
from streamres.model.json_value import encode_json, parse_json
from streamres.model.patch import encode_patch, parse_patch

from .histories import URI, shown
from .json_oracle import QUICKLY, Operation, Refused, documents, patched, patches

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = Any

MB = 1024 * 1024
BIG = 2**70


def log_of(value: Json, limits: Limits | None = None) -> ResourceLog:
    return ResourceLog(URI, epoch=1, kind="json", content=encode_json(value), limits=limits)


def text_of(log: ResourceLog) -> str:
    step = log.read().step
    assert isinstance(step, Snapshot)
    return shown(step).decode()


def observed(log: ResourceLog) -> list[object]:
    """All that anyone can learn of a document, by the byte; and what the next patch would find."""
    assert isinstance(log.content, JsonContent)
    kept = encode_json(log.content.document.value)
    readings = [log.read(Position(1, 0, 0), append_op=append_op).step for append_op in (True, False)]
    steps = [shown(step) if isinstance(step, Snapshot) else step.operations for step in readings]  # type: ignore[union-attr]
    return [kept, text_of(log), steps, log.head, log.floor]


def commit(log: ResourceLog, *operations: Operation) -> None:
    log.commit(json.dumps(operations).encode())


def op(name: str, path: str, **members: object) -> Operation:
    members = {"from" if member == "source" else member: value for member, value in members.items()}
    return {"op": name, "path": path, **members}


DOING: dict[str, tuple[Json, Operation, Json]] = {
    "add a member": ({}, op("add", "/a", value=1), {"a": 1}),
    "add over a member, in its place": ({"a": 1, "b": 2}, op("add", "/a", value=3), {"a": 3, "b": 2}),
    "add a null": ({}, op("add", "/a", value=None), {"a": None}),
    "add before an item": ([1, 3], op("add", "/1", value=2), [1, 2, 3]),
    "add after the last": ([1], op("add", "/1", value=2), [1, 2]),
    "add at the end": ([1], op("add", "/-", value=2), [1, 2]),
    "add the root": ([1], op("add", "", value={"x": 2}), {"x": 2}),
    "add to a member named 0": ({"0": 1}, op("add", "/0", value=2), {"0": 2}),
    "add to a member named -": ({}, op("add", "/-", value=2), {"-": 2}),
    "add to a member named 01": ({}, op("add", "/01", value=2), {"01": 2}),
    "add to a member without a name": ({}, op("add", "/", value=2), {"": 2}),
    "add inside one without a name": ({"": {}}, op("add", "//", value=2), {"": {"": 2}}),
    "a slash in a name": ({"a/b": 1}, op("replace", "/a~1b", value=2), {"a/b": 2}),
    "a tilde in a name": ({"a~b": 1}, op("replace", "/a~0b", value=2), {"a~b": 2}),
    "a tilde and then a 1": ({"~1": 1, "/": 2}, op("replace", "/~01", value=3), {"~1": 3, "/": 2}),
    "a percent sign is itself": ({"%41": 1, "A": 2}, op("remove", "/%41"), {"A": 2}),
    "remove an item": ([1, 2, 3], op("remove", "/1"), [1, 3]),
    "replace the root": ({"a": 1}, op("replace", "", value=None), None),
    "replace a root that is null": (None, op("replace", "", value=[]), []),
    "move a member": ({"a": 1, "b": 2}, op("move", "/c", source="/a"), {"b": 2, "c": 1}),
    "move onto itself": ({"a": {"b": 1}}, op("move", "/a", source="/a"), {"a": {"b": 1}}),
    "move the root onto itself": ({"a": 1}, op("move", "", source=""), {"a": 1}),
    "move a child over its parent": ({"a": {"b": 1}}, op("move", "/a", source="/a/b"), {"a": 1}),
    "move a child to the root": ({"a": {"b": 1}}, op("move", "", source="/a"), {"b": 1}),
    "move backwards in an array": ([1, 2, 3], op("move", "/0", source="/2"), [3, 1, 2]),
    "move forwards counts without it": ([1, 2, 3], op("move", "/2", source="/0"), [2, 3, 1]),
    "move to a name that begins alike": ({"a": 1}, op("move", "/ab", source="/a"), {"ab": 1}),
    "copy into its own child": ({"a": {}}, op("copy", "/a/b", source="/a"), {"a": {"b": {}}}),
    "copy the root inside": ({"a": 1}, op("copy", "/b", source=""), {"a": 1, "b": {"a": 1}}),
    "test equal numbers": ({"a": 1}, op("test", "/a", value=1.0), {"a": 1}),
    "test a large number": ({"a": BIG}, op("test", "/a", value=BIG), {"a": BIG}),
    "test in another order": ({"a": 1, "b": [2]}, op("test", "", value={"b": [2], "a": 1}), {"a": 1, "b": [2]}),
    "append to a member": ({"a": "x"}, op("append", "/a", value="y"), {"a": "xy"}),
    "append to an item": (["x", "z"], op("append", "/0", value="y"), ["xy", "z"]),
    "append nothing": ({"a": "x"}, op("append", "/a", value=""), {"a": "x"}),
    "append to nothing": ({"a": ""}, op("append", "/a", value="😀"), {"a": "😀"}),
    "a member that no one knows": ({"a": 1}, op("remove", "/a", value=1, source="/x", xyz=[1]), {}),
}


@requirement("SR-2.3.a")
@requirement("SR-2.5.a")
@pytest.mark.parametrize(("before", "operation", "after"), DOING.values(), ids=DOING)
def test_an_operation_does_what_it_says(before: Json, operation: Operation, after: Json) -> None:
    log = log_of(before)

    commit(log, operation)

    assert text_of(log) == encode_json(after).decode()
    assert json.dumps(patched(before, [operation])) == json.dumps(after), "the oracle of these tests"


def test_members_that_are_not_known_are_not_kept() -> None:
    log = log_of({"a": 1})
    commit(log, op("replace", "/a", value=2, comment="x", source="/b"))

    step = log.read(Position(1, 0, 0)).step

    assert step.operations == b'[{"op":"replace","path":"/a","value":2}]'  # type: ignore[union-attr]


REFUSED: dict[str, tuple[Json, object]] = {
    "not JSON": ({}, b"{"),
    "an object": ({}, {}),
    "a string": ({}, "[]"),
    "null": ({}, None),
    "an operation that is no object": ({}, ["remove"]),
    "an unknown operation": ({}, [op("merge", "/a", value=1)]),
    "an operation in capitals": ({}, [op("ADD", "/a", value=1)]),
    "an operation that is no string": ({}, [{"op": ["add"], "path": "/a", "value": 1}]),
    "no operation": ({}, [{"path": "/a", "value": 1}]),
    "no path": ({}, [{"op": "add", "value": 1}]),
    "a path that is a number": ([1], [{"op": "remove", "path": 0}]),
    "a path that is null": ([1], [{"op": "remove", "path": None}]),
    "a path in a list": ({}, [{"op": "add", "path": ["a"], "value": 1}]),
    "a path without a slash": ({"a": 1}, [op("remove", "a")]),
    "a fragment": ({"a": 1}, [op("remove", "#/a")]),
    "a tilde alone": ({"~": 1}, [op("remove", "/~")]),
    "an unknown escape": ({"~2": 1}, [op("remove", "/~2")]),
    "no value": ({}, [op("add", "/a")]),
    "no value to test": ({"a": None}, [op("test", "/a")]),
    "no from": ({"a": 1}, [op("move", "/b")]),
    "a from that is none": ({"a": 1}, [op("copy", "/b", source="a")]),
    "a from that is a number": ([1], [op("copy", "/0", source=0)]),
    "a leading zero": ([1, 2], [op("remove", "/01")]),
    "two zeros": ([1], [op("remove", "/00")]),
    "a negative index": ([1, 2], [op("remove", "/-1")]),
    "a negative index to add at": ([1, 2], [op("add", "/-1", value=0)]),
    "a negative index to replace": ([1, 2], [op("replace", "/-1", value=0)]),
    "a negative index to copy": ([1, 2], [op("copy", "/0", source="/-1")]),
    "a plus sign": ([1, 2], [op("remove", "/+1")]),
    "a space": ([1, 2], [op("remove", "/ 1")]),
    "an exponent": ([1, 2], [op("remove", "/1e0")]),
    "an underscore": ([0] * 20, [op("remove", "/1_0")]),
    "digits of another script": ([1, 2], [op("remove", "/\u0661")]),
    "digits above the line": ([1, 2], [op("replace", "/²", value=0)]),
    "an index past the end": ([1], [op("remove", "/1")]),
    "an index past the end to replace": ([1], [op("replace", "/1", value=0)]),
    "an index past the end to add at": ([1], [op("add", "/2", value=0)]),
    "an index without end": ([1], [op("add", "/" + "9" * 30, value=0)]),
    "an index of 5,000 digits": ([1], [op("add", "/" + "9" * 5_000, value=0)]),
    "after the last, to remove": ([1], [op("remove", "/-")]),
    "after the last, to replace": ([1], [op("replace", "/-", value=0)]),
    "after the last, to test": ([1], [op("test", "/-", value=1)]),
    "after the last, to copy": ([1], [op("copy", "/0", source="/-")]),
    "after the last, to move": ([1], [op("move", "/0", source="/-")]),
    "inside what is after the last": ([{}], [op("add", "/-/a", value=0)]),
    "a name in an array": ([1], [op("add", "/a", value=0)]),
    "a missing member": ({}, [op("remove", "/a")]),
    "a missing member to replace": ({}, [op("replace", "/a", value=1)]),
    "inside a missing member": ({}, [op("add", "/a/b", value=1)]),
    "inside a string": ({"a": "xyz"}, [op("add", "/a/0", value="q")]),
    "the letter of a string": ({"a": "xyz"}, [op("test", "/a/0", value="x")]),
    "inside a number": ({"a": 1}, [op("add", "/a/b", value=1)]),
    "inside null": (None, [op("add", "/a", value=1)]),
    "inside true": (True, [op("remove", "/a")]),
    "the root to remove": ({"a": 1}, [op("remove", "")]),
    "into its own child": ({"a": {"b": {}}}, [op("move", "/a/b/c", source="/a")]),
    "into its own child, an item": ([[], []], [op("move", "/0/0", source="/0")]),
    "the root into a child": ({"a": {}}, [op("move", "/a/b", source="")]),
    "what is missing onto itself": ({}, [op("move", "/a", source="/a")]),
    "another string": ({"a": "x"}, [op("test", "/a", value="y")]),
    "1 for true": ({"a": True}, [op("test", "/a", value=1)]),
    "0 for false, far inside": ({"a": [{"b": False}]}, [op("test", "", value={"a": [{"b": 0}]})]),
    "null for false": ({"a": False}, [op("test", "/a", value=None)]),
    "null for a missing member": ({}, [op("test", "/a", value=None)]),
    "the neighbour of a large number": ({"a": BIG}, [op("test", "/a", value=BIG + 1)]),
    "a double for an integer that it is near": ({"a": 2**53 + 1}, [op("test", "/a", value=2.0**53)]),
    "a member too many": ({"a": 1, "b": 2}, [op("test", "", value={"a": 1})]),
    "an item too few": ({"a": [1]}, [op("test", "/a", value=[])]),
    "append to a number": ({"a": 1}, [op("append", "/a", value="x")]),
    "append to null": ({"a": None}, [op("append", "/a", value="x")]),
    "append to a list": ({"a": []}, [op("append", "/a", value="x")]),
    "append to a missing member": ({}, [op("append", "/a", value="x")]),
    "append past the end": (["a"], [op("append", "/1", value="x")]),
    "append after the last": (["a"], [op("append", "/-", value="x")]),
    "append inside a string": ({"a": "x"}, [op("append", "/a/0", value="x")]),
    "append to the root": ("a", [op("append", "", value="x")]),
    "append to the root, and something else": ("a", [op("test", "", value="a"), op("append", "", value="x")]),
    "append to the root, twice": ("a", [op("append", "", value="x"), op("append", "", value="y")]),
    "append a number": ({"a": "x"}, [op("append", "/a", value=1)]),
    "append null": ({"a": "x"}, [op("append", "/a", value=None)]),
    "append no value": ({"a": "x"}, [op("append", "/a")]),
    "a name twice in an operation": ({"a": 1}, b'[{"op":"remove","path":"/a","path":"/b"}]'),
    "a lone surrogate": ({}, rb'[{"op":"add","path":"/a","value":"\ud800"}]'),
    "a lone surrogate in a path": ({}, rb'[{"op":"add","path":"/\ud800","value":1}]'),
    "not a number": ({}, b'[{"op":"add","path":"/a","value":NaN}]'),
    "a number too large": ({}, b'[{"op":"add","path":"/a","value":1e999}]'),
}


@requirement("SR-2.3.b")
@requirement("SR-2.5.a")
@requirement("M3")
@pytest.mark.parametrize(("before", "patch"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_applied_changes_nothing_alone_or_last(before: Json, patch: object) -> None:
    data = patch if isinstance(patch, bytes) else json.dumps(patch).encode()
    log = log_of(before)
    seen = observed(log)

    with pytest.raises(DeltaError) as caught:
        log.commit(data)
    assert len(str(caught.value)) < 300
    if isinstance(patch, list):
        first: list[Operation] = [op("replace", "", value=[before, "grown"]), op("append", "/1", value="!")]
        undone: list[Operation] = [*first, op("move", "", source="/0")]
        with pytest.raises(DeltaError):
            commit(log, *undone, *patch)
        if isinstance(before, dict):
            with pytest.raises(DeltaError):
                commit(log, op("add", "/grown", value="?"), op("append", "/grown", value="!"), *patch)
            with pytest.raises(DeltaError):
                commit(log, op("add", "/more", value=[]), *[op("remove", f"/{name}") for name in before], *patch)

    assert observed(log) == seen
    assert log.commit(b"") == log.head
    commit(log, op("add", "", value="on"))
    assert text_of(log) == '"on"'


def test_an_empty_patch_is_no_revision() -> None:
    log = log_of({"a": 1})

    log.commit(b" [ ] ")

    assert log.head.position == Position(1, 0, 0)


def test_a_patch_of_tests_alone_is_a_revision_that_changes_nothing() -> None:
    log = log_of({"a": 1})

    commit(log, op("test", "/a", value=1))

    assert (log.head.position.revision, text_of(log)) == (1, '{"a":1}')


@requirement("SR-2.3")
@requirement("SR-2.5.a")
@requirement("M3")
@settings(QUICKLY, max_examples=150)
@given(data=st.data(), limits=st.sampled_from([(10_000, 128)] * 3 + [(60, 128), (10_000, 4), (60, 4), (25, 2)]))
def test_a_history_of_patches_is_that_of_the_oracle_or_changes_nothing(
    data: st.DataObject, limits: tuple[int, int]
) -> None:
    """Small limits take the ways that measure, for which a patch may also be refused for its size."""
    size, depth = limits
    before = data.draw(documents)
    try:
        log = log_of(before, Limits(json_bytes=size, json_depth=depth))
    except LimitExceeded:
        return
    for _ in range(data.draw(st.integers(1, 6))):
        patch = data.draw(patches(before))
        seen = observed(log)
        expected = outcome(before, patch)
        try:
            commit(log, *patch)
        except DeltaError:
            assert expected is REFUSAL
        except LimitExceeded:
            assert expected is REFUSAL or passes(before, patch, size, depth)
        else:
            assert expected is not REFUSAL
            before = expected
            assert text_of(log) == encode_json(before).decode()
            assert len(encode_json(before)) <= size
            assert depth_in(before) <= depth
            continue
        assert observed(log) == seen


REFUSAL = object()


def outcome(document: Json, patch: list[Operation]) -> Json:
    try:
        return patched(document, patch)
    except Refused:
        return REFUSAL


def depth_in(value: Json) -> int:
    match value:
        case dict():
            return 1 + max(map(depth_in, value.values()), default=0)
        case list():
            return 1 + max(map(depth_in, value), default=0)
        case _:
            return 0


def passes(document: Json, patch: list[Operation], size: int, depth: int) -> bool:
    """Whether a patch passes a limit at its end or on the way, or by what it writes in all."""
    written = 0
    for operation in patch:
        value = operation.get("value")
        written += len(encode_json(value))
        if operation["op"] == "copy":
            before = patched(document, [op("copy", "", source=operation["from"])])
            written += len(encode_json(before))
        levels = operation["path"].count("/")
        if levels + depth_in(value) > depth or operation.get("from", "").count("/") > depth:
            return True
        document = patched(document, [operation])
        if depth_in(document) > depth:
            return True
    return written > size or len(encode_json(document)) > size


@requirement("SR-2.3")
@settings(QUICKLY, max_examples=100)
@given(data=st.data())
def test_sound_patches_are_applied_with_bounds_that_hold(data: st.DataObject) -> None:
    value = data.draw(documents)
    limits = Limits()
    document = Document(limits, parse_json(encode_json(value), max_depth=128))
    for _ in range(data.draw(st.integers(1, 5))):
        patch = data.draw(patches(value, sound=True))
        value = patched(value, patch)

        operations = parse_patch(json.dumps(patch).encode(), limits)
        document.apply(operations, encode_patch(operations))

        assert document._size >= len(encode_json(value))
        assert document._depth >= depth_in(value)
        if data.draw(st.booleans()):
            assert document.encoded() == encode_json(value)


@contextmanager
def cheap(*, seconds: float, megabytes: float) -> Iterator[None]:
    """Fails where what is inside takes more CPU or more memory at once."""
    tracemalloc.start()
    begin = time.process_time()
    try:
        yield
        taken = time.process_time() - begin
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < megabytes * MB
    assert taken < seconds


SMALL = Limits(json_bytes=1 * MB, json_depth=64, patch_ops=1_000)

BOMBS: dict[str, tuple[Json, list[Operation], str]] = {
    "copies that double": (
        {"a": "x" * 1_000},
        [op("copy", f"/{number}", source="") for number in range(200)],
        "json_bytes",
    ),
    "a few copies that double": (
        {"a": "x" * 1_000},
        [op("copy", f"/{number}", source="") for number in range(15)],
        "json_bytes",
    ),
    "copies into themselves": ({"a": "x" * 1_000}, [op("copy", "/a", source="")] * 1_000, "json_depth"),
    "copies side by side": (
        {"a": ["x" * 100_000]},
        [op("copy", "/a/-", source="/a/0") for _ in range(1_000)],
        "json_bytes",
    ),
    "copies over one another": (
        {"a": "x" * 900_000},
        [op("copy", "/b", source="/a") for _ in range(1_000)],
        "json_bytes",
    ),
    "an array that takes copies of itself": (["x" * 100], [op("copy", "/-", source="")] * 400, "json_bytes"),
    "a path without end": ({}, [op("add", "/a" * 100_000, value=1)], "json_depth"),
    "a from without end": ({}, [op("copy", "/a", source="/" * 1_000_000)], "json_depth"),
    "an add too deep": ([], [op("add", "/-", value=json.loads("[" * 64 + "]" * 64))], "json_depth"),
    "an operation too many": ({}, [op("add", "/a", value=1)] * 1_001, "patch_ops"),
    "a document too large": ({}, [op("add", "", value="x" * MB)], "json_bytes"),
    "growth by appends": (
        {"a": "x" * 500_000},
        [op("append", "/a", value="y" * 100_000) for _ in range(10)],
        "json_bytes",
    ),
    "growth by one item": ([["x" * 1_048_000]], [op("add", "/-", value="y" * 1_000)], "json_bytes"),
}


@requirement("SR-12.3")
@requirement("M3")
@pytest.mark.parametrize(("before", "patch", "limit"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_by_its_limit_cheaply_and_changes_nothing(
    before: Json, patch: list[Operation], limit: str
) -> None:
    log = log_of(before, SMALL)
    seen = observed(log)
    data = json.dumps(patch).encode()

    with cheap(seconds=2, megabytes=20), pytest.raises(LimitExceeded) as caught:
        log.commit(data)

    assert (caught.value.limit, caught.value.value) == (limit, getattr(SMALL, limit))
    assert observed(log) == seen


@requirement("SR-12.3")
@pytest.mark.parametrize("way", ["copy", "move", "add"])
def test_the_depth_is_held_over_any_number_of_patches(way: str) -> None:
    """Each patch alone is shallow; only what they make together is not."""
    log = log_of([[]], Limits(json_depth=40, json_bytes=MB))
    with cheap(seconds=5, megabytes=20), pytest.raises(LimitExceeded) as caught:
        deepen(log, way)

    assert caught.value.limit == "json_depth"
    assert depth_in(json.loads(text_of(log))) == 40


def deepen(log: ResourceLog, way: str) -> None:
    for depth in range(1, 1_000):
        match way:
            case "add":
                commit(log, op("add", "/0" * depth + "/-", value=[]))
            case "copy":
                commit(log, op("copy", "/1", source=""), op("remove", "/0"))
            case "move":
                commit(log, op("add", "/0", value=[]))
                commit(log, op("move", "/0/-", source="/1"))


@requirement("SR-12.3")
def test_a_deepest_document_takes_every_operation() -> None:
    limits = Limits()
    deep = json.loads("[" * limits.json_depth + "]" * limits.json_depth)
    log = log_of(deep, limits)
    bottom = "/0" * (limits.json_depth - 1)

    commit(log, op("test", "", value=deep))
    commit(log, op("add", bottom + "/-", value="a"), op("copy", bottom + "/-", source=bottom + "/0"))
    commit(log, op("append", bottom + "/1", value="b"), op("move", bottom + "/0", source=bottom + "/1"))
    with pytest.raises(LimitExceeded):
        commit(log, op("add", bottom + "/-", value=[]))

    assert text_of(log) == "[" * 128 + '"ab","a"' + "]" * 128


def test_a_test_that_fails_says_so_without_the_documents() -> None:
    log = log_of({"a": "x" * 100_000})

    with pytest.raises(DeltaError) as caught:
        commit(log, op("test", "", value={"a": "y" * 100_000}))

    assert len(str(caught.value)) < 300


@requirement("SR-12.3")
def test_a_document_may_be_as_large_as_the_limit_and_not_a_byte_more() -> None:
    limits = Limits(json_bytes=100)
    log = log_of({"a": ""}, limits)

    commit(log, op("append", "/a", value="x" * 92))
    with pytest.raises(LimitExceeded):
        commit(log, op("append", "/a", value="x"))
    with pytest.raises(LimitExceeded):
        commit(log, op("add", "/b", value=1))
    commit(log, op("replace", "/a", value="y" * 92))
    commit(log, op("replace", "/a", value=""), op("add", "/b", value="x" * 85))

    assert len(text_of(log)) == 100
    with pytest.raises(LimitExceeded):
        log_of("x" * 99, limits)
    with pytest.raises(LimitExceeded):
        log.replace(b'"' + b"x" * 99 + b'"', epoch=2)
    assert log.head.position.epoch == 1


@requirement("SR-12.3")
def test_a_small_patch_to_a_large_document_costs_what_the_patch_costs() -> None:
    """Encoding the document, or copying it, takes some hundred times as long."""
    rows = [{"id": number, "text": "x" * 40} for number in range(20_000)]
    log = log_of({"rows": rows, "count": 0, "text": ""}, Limits(json_bytes=4 * MB))
    begin = time.process_time()
    for number in range(1_000):
        commit(log, op("replace", "/count", value=number), op("append", "/text", value="y"))
        commit(log, op("replace", f"/rows/{number}/text", value="z"))
    taken = time.process_time() - begin

    assert len(text_of(log)) > MB
    assert taken < 2


@requirement("SR-12.3")
def test_patches_to_a_document_near_the_limit_are_measured_in_reasonable_time() -> None:
    log = log_of({"rows": ["x" * 100] * 9_900, "n": 0}, Limits(json_bytes=1_023_000))
    begin = time.process_time()
    for number in range(200):
        commit(log, op("replace", "/n", value=number % 10))
    for _ in range(10):
        with pytest.raises(LimitExceeded):
            commit(log, op("add", "/rows/-", value="y" * 100_000))

    assert time.process_time() - begin < 5
