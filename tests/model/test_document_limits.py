"""Hostile patches are refused by the name of a limit, at little cost, and sound ones cost what they are."""

from __future__ import annotations

import json
import time
import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from requirement import requirement

from streamres.errors import LimitExceeded
from streamres.limits import Limits

from .json_log import commit, depth_in, log_of, observed, op, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.model import ResourceLog

    from .json_oracle import Operation

Json = Any

MB = 1024 * 1024


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
    log = log_of(before, limits=SMALL)
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
    log = log_of([[]], limits=Limits(json_depth=40, json_bytes=MB))
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
    log = log_of(deep, limits=limits)
    bottom = "/0" * (limits.json_depth - 1)

    commit(log, op("test", "", value=deep))
    commit(log, op("add", bottom + "/-", value="a"), op("copy", bottom + "/-", source=bottom + "/0"))
    commit(log, op("append", bottom + "/1", value="b"), op("move", bottom + "/0", source=bottom + "/1"))
    with pytest.raises(LimitExceeded):
        commit(log, op("add", bottom + "/-", value=[]))

    assert text_of(log) == "[" * 128 + '"ab","a"' + "]" * 128


@requirement("SR-12.3")
def test_a_document_may_be_as_large_as_the_limit_and_not_a_byte_more() -> None:
    limits = Limits(json_bytes=100)
    log = log_of({"a": ""}, limits=limits)

    commit(log, op("append", "/a", value="x" * 92))
    with pytest.raises(LimitExceeded):
        commit(log, op("append", "/a", value="x"))
    with pytest.raises(LimitExceeded):
        commit(log, op("add", "/b", value=1))
    commit(log, op("replace", "/a", value="y" * 92))
    commit(log, op("replace", "/a", value=""), op("add", "/b", value="x" * 85))

    assert len(text_of(log)) == 100
    with pytest.raises(LimitExceeded):
        log_of("x" * 99, limits=limits)
    with pytest.raises(LimitExceeded):
        log.replace(b'"' + b"x" * 99 + b'"', epoch=2)
    assert log.head.position.epoch == 1


@requirement("SR-12.3")
def test_a_small_patch_to_a_large_document_costs_what_the_patch_costs() -> None:
    """Encoding the document, or copying it, takes some hundred times as long."""
    rows = [{"id": number, "text": "x" * 40} for number in range(20_000)]
    log = log_of({"rows": rows, "count": 0, "text": ""}, limits=Limits(json_bytes=4 * MB))
    begin = time.process_time()
    for number in range(1_000):
        commit(log, op("replace", "/count", value=number), op("append", "/text", value="y"))
        commit(log, op("replace", f"/rows/{number}/text", value="z"))
    taken = time.process_time() - begin

    assert len(text_of(log)) > MB
    assert taken < 2


@requirement("SR-12.3")
def test_patches_to_a_document_near_the_limit_are_measured_in_reasonable_time() -> None:
    log = log_of({"rows": ["x" * 100] * 9_900, "n": 0}, limits=Limits(json_bytes=1_023_000))
    begin = time.process_time()
    for number in range(200):
        commit(log, op("replace", "/n", value=number % 10))
    for _ in range(10):
        with pytest.raises(LimitExceeded):
            commit(log, op("add", "/rows/-", value="y" * 100_000))

    assert time.process_time() - begin < 5
