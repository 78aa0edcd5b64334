"""Each operation of a patch does what RFC 6902 says, and `append` what SR-2.5 does, edge by edge."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from requirement import requirement

from streamres.model import Position
from streamres.model.json_value import encode_json

from .json_log import commit, log_of, op, text_of
from .json_oracle import patched

if TYPE_CHECKING:
    from .json_oracle import Operation

Json = Any
BIG = 2**70


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


def test_an_empty_patch_is_no_revision() -> None:
    log = log_of({"a": 1})

    log.commit(b" [ ] ")

    assert log.head.position == Position(1, 0, 0)


def test_a_patch_of_tests_alone_is_a_revision_that_changes_nothing() -> None:
    log = log_of({"a": 1})

    commit(log, op("test", "/a", value=1))

    assert (log.head.position.revision, text_of(log)) == (1, '{"a":1}')
