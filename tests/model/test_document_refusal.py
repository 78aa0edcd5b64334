"""A patch is made whole or not at all: one operation that cannot be made undoes those before it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from requirement import requirement

from streamres.errors import DeltaError

from .json_log import commit, log_of, observed, op, text_of

if TYPE_CHECKING:
    from .json_oracle import Operation

Json = Any
BIG = 2**70


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


def test_a_test_that_fails_says_so_without_the_documents() -> None:
    log = log_of({"a": "x" * 100_000})

    with pytest.raises(DeltaError) as caught:
        commit(log, op("test", "", value={"a": "y" * 100_000}))

    assert len(str(caught.value)) < 300
