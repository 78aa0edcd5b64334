"""What a delta of a document is made of: whole patches, neighbours joined, the document where that is less."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from requirement import requirement

from streamres.model import Patch, Position, Snapshot
from streamres.model.json_value import encode_json, parse_json

from .histories import shown
from .json_log import document_in, log_of

if TYPE_CHECKING:
    from streamres.model import ResourceLog


@requirement("SR-5.10")
def test_a_delta_that_takes_much_more_than_the_document_is_given_as_the_document() -> None:
    log = log_of({"n": 0})
    start = log.head.position
    resets = []
    for number in range(60):
        log.commit(encode_json([{"op": "add", "path": "/n", "value": f"{number:040}"}]))
        reading = log.read(start)
        resets.append(reading.reset)
        if reading.reset is not None:
            assert (reading.reset, document_in(reading.step)) == ("smaller", encode_json({"n": f"{number:040}"}))
            assert not reading.more

    assert resets == sorted(resets, key=lambda reset: reset is not None), "and stays so"
    assert 10 < resets.count(None) < 60
    assert log.read(log.head.position).reset is None


@requirement("SR-5.10")
@requirement("SR-2.5.b")
def test_a_string_that_grew_is_never_sent_at_more_than_the_document_takes() -> None:
    log = log_of({"text": "", "old": "", "big": "x" * 5_000})
    start = log.head.position
    log.commit(encode_json([{"op": "append", "path": "/text", "value": "y" * 3_000}]))

    plain, asked = log.read(start, append_op=False), log.read(start, append_op=True)

    assert isinstance(asked.step, Patch)
    assert isinstance(plain.step, Patch)
    assert (plain.reset, asked.reset) == (None, None)
    assert json.loads(plain.step.operations) == [{"op": "replace", "path": "/text", "value": "y" * 3_000}]

    log.commit(encode_json([{"op": "copy", "path": "/old", "from": "/text"}]))
    assert log.read(start, append_op=False).reset == "smaller", "it was read on the way"
    assert log.read(start, append_op=True).reset is None


@requirement("SR-3.3")
def test_neighbours_that_grow_or_overwrite_the_same_place_are_sent_as_one() -> None:
    log = log_of(
        {"text": "", "n": 0},
        *[[{"op": "append", "path": "/text", "value": f"{n} "}] for n in range(3)],
        *[[{"op": "replace", "path": "/n", "value": n}] for n in range(3)],
        [{"op": "append", "path": "/text", "value": "end"}],
    )

    step = log.read(Position(1, 0, 0)).step

    assert isinstance(step, Patch)
    assert json.loads(step.operations) == [
        {"op": "append", "path": "/text", "value": "0 1 2 "},
        {"op": "replace", "path": "/n", "value": 2},
        {"op": "append", "path": "/text", "value": "end"},
    ]


@requirement("SR-5.7.a")
@requirement("SR-5.7.c")
@requirement("SR-5.7.d")
def test_a_bounded_read_gives_as_many_whole_patches_as_fit_and_at_least_one() -> None:
    patches = [[{"op": "add", "path": f"/{n}", "value": "x" * 10}] for n in range(5)]
    log = log_of({}, *patches)
    size = len(json.dumps(patches[0], separators=(",", ":")))
    two = 2 * size - 1  # of the brackets there is one pair, and a comma between

    got = [read_patches(log, max_bytes) for max_bytes in (1, size - 1, size, two - 1, two, two + 1)]

    assert got == [[1, 1, 1, 1, 1]] * 4 + [[2, 2, 1]] * 2


def read_patches(log: ResourceLog, max_bytes: int) -> list[int]:
    """How many patches each page of a whole read has."""
    since, counts = Position(1, 0, 0), []
    while True:
        reading = log.read(since, max_bytes=max_bytes)
        assert isinstance(reading.step, Patch)
        counts.append(reading.step.stop.revision - since.revision)
        since = reading.step.stop
        if not reading.more:
            return counts


@requirement("SR-2.4")
def test_a_document_is_replaced_by_a_document_alone() -> None:
    log = log_of({"a": 1})

    head = log.replace(b' { "b" : 1.0 } ', epoch=2)

    assert document_in(log.read().step) == b'{"b":1.0}'
    assert (head.position.revision, log.read(Position(1, 0, 0)).reset) == (0, "epoch")
    assert parse_json(document_in(log.read().step), max_depth=2) == {"b": 1.0}


@requirement("SR-5.8")
def test_the_tail_of_a_document_is_the_document() -> None:
    step = log_of({"a": "x" * 100}).read(tail_bytes=5, max_bytes=5).step

    assert isinstance(step, Snapshot)
    assert (step.begin, shown(step)) == (0, encode_json({"a": "x" * 100}))
