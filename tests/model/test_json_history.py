"""M1 to M7 over random histories of documents, against an oracle that keeps every document whole."""

from __future__ import annotations

import json
from base64 import b64encode
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import jsonpatch
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.model import Patch, Position, ResourceLog, Snapshot, decode_cursor
from streamres.model import json_content as json_content_module
from streamres.model.json_value import encode_json

from .histories import FIRST_EPOCH, URI
from .json_histories import JsonReader, Oracle, Step, answer_of, histories, play
from .json_log import document_in
from .json_oracle import QUICKLY, patched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.model import Update

Json = Any
History = tuple[Json, list[Step]]

examples = settings(QUICKLY, max_examples=100)
bounds = st.none() | st.integers(0, 200)


@contextmanager
def worth(surplus: int) -> Iterator[None]:
    """Short documents are then given in place of short deltas, as large ones are of large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_content_module, "WORTH_BYTES", surplus)
        yield


def applied(content: bytes, patch: Patch, *, append_op: bool) -> bytes:
    """What a reader of its own makes of a patch; without `append`, one that knows RFC 6902 alone."""
    document, operations = json.loads(content), json.loads(patch.operations)
    if append_op:
        return encode_json(patched(document, operations))
    return encode_json(jsonpatch.JsonPatch(operations).apply(document))


@requirement("M1")
@requirement("SR-2.3")
@given(history=histories())
@examples
def test_every_patch_that_is_made_is_the_next_revision(history: History) -> None:
    for log, oracle in play(*history):
        assert log.head.position == oracle.heads[-1]
        assert log.head.position.revision == len(oracle.lives[oracle.epoch]) - 1
        assert (log.head.state, log.floor.revision) == (oracle.state, oracle.floor)
        assert document_in(log.read().step) == oracle.content


@requirement("M4")
@requirement("SR-3.2")
@requirement("SR-3.3")
@requirement("SR-2.5")
@requirement("SR-5.5")
@requirement("SR-5.7")
@requirement("SR-5.10")
@given(history=histories(), max_bytes=bounds, surplus=st.sampled_from([1_024, 20, -40]), append_op=st.booleans())
@examples
def test_a_snapshot_and_the_deltas_after_it_give_the_document_by_any_way_there(
    history: History, max_bytes: int | None, surplus: int, append_op: bool
) -> None:
    with worth(surplus):
        for log, oracle in play(*history):
            for position in oracle.heads:
                content, since = oracle.at(position), position
                for _ in range(99):
                    reading = log.read(since, max_bytes=max_bytes, append_op=append_op)
                    step = reading.step
                    if isinstance(step, Patch):
                        assert reading.reset is None
                        assert step.start == since
                        content = applied(content, step, append_op=append_op)
                        if max_bytes is not None and step.size > max_bytes and step.start != step.stop:
                            # Of a string that grew, RFC 6902 alone has no middle: such a delta goes to the head.
                            one = len(lengths_after(oracle, step)) <= 1
                            assert one or (not append_op and not reading.more)
                    else:
                        content = document_in(step)
                        assert reading.reset == (oracle.refusal(since) or "smaller")
                        assert step.stop == log.head.position
                    assert content == oracle.at(step.stop), "a delta ends where no patch does, or elsewhere"
                    assert reading.more == (step.stop != log.head.position)
                    since = step.stop
                    if not reading.more:
                        break
                    assert (reading.state, reading.digest) == ("open", None)
                assert (since, content) == (log.head.position, oracle.content)
                assert (reading.state, reading.digest) == (log.head.state, log.head.digest)


def lengths_after(oracle: Oracle, step: Patch) -> set[int]:
    """The patches that a step holds, by where they end; a seal alone adds none."""
    life = [position.length for position, _ in oracle.lives[oracle.epoch]]
    return {length for length in life if step.start.length < length <= step.stop.length}


@requirement("SR-2.5.b")
@given(history=histories())
@examples
def test_who_did_not_ask_for_append_is_never_sent_one(history: History) -> None:
    for log, oracle in play(*history):
        for position in oracle.heads:
            step = log.read(position, append_op=False).step
            if isinstance(step, Patch):
                assert not [operation for operation in json.loads(step.operations) if operation["op"] == "append"]


@requirement("SR-2.5.a")
@given(history=histories(replaced=False))
@examples
def test_who_asked_for_append_is_sent_what_was_appended(history: History) -> None:
    first, steps = history
    patches = [Step("patch", step.patch) for step in steps if step.kind == "patch"]
    start = Position(FIRST_EPOCH, 0, 0)
    log, _ = list(play(first, patches))[-1]

    with worth(1_000_000):
        sent = log.read(start).step

    assert isinstance(sent, Patch)
    made = [operation for step in patches for operation in step.patch]
    assert grown_in(json.loads(sent.operations)) == grown_in(made)


def grown_in(operations: list[dict[str, Any]]) -> str:
    return "".join(operation["value"] for operation in operations if operation["op"] == "append")


@requirement("SR-3.4")
@requirement("M6")
@given(history=histories(), outside=st.sampled_from([None, 2**53, -(2**53), [2**70]]))
@examples
def test_the_digest_is_that_of_the_document_and_comes_with_the_seal_only(
    history: History, outside: object
) -> None:
    first, steps = history
    if outside is not None:
        steps = [*steps[:-1], Step("replace", value={"n": outside}), Step("seal")]
    for log, oracle in play(first, steps):
        expected = None if oracle.state == "open" else digest_of(oracle.content)
        assert log.head.digest == log.read().digest == log.read(log.head.position).digest == expected


def digest_of(content: bytes) -> str | None:
    try:
        canonical = rfc8785.dumps(json.loads(content))
    except rfc8785.CanonicalizationError:
        return None
    return f"sha-256=:{b64encode(sha256(canonical).digest()).decode()}:"


@requirement("SR-3.4.c")
def test_outside_i_json_there_is_no_digest_and_one_patch_later_there_may_be() -> None:
    for value, inside in ((2**53, False), (2**53 - 1, True), (1e300, True)):
        log = ResourceLog(URI, epoch=1, kind="json", content=encode_json([2**80]))
        head = log.commit(encode_json([{"op": "replace", "path": "/0", "value": value}]), seal="complete")

        assert (head.digest is not None) == inside


@requirement("M2")
@requirement("SR-3.1")
@given(history=histories(), append_op=st.booleans())
@examples
def test_a_reading_shows_the_same_bytes_for_ever(history: History, append_op: bool) -> None:
    kept: list[tuple[object, bytes]] = []
    for log, oracle in play(*history):
        for position in (None, oracle.heads[0], log.floor, log.head.position):
            step = log.read(position, append_op=append_op).step
            kept.append((step, step.operations if isinstance(step, Patch) else document_in(step)))
        walk = log.read().step
        assert isinstance(walk, Snapshot)
        kept.append((walk, oracle.content))

    for step, expected in kept:
        assert (step.operations if isinstance(step, Patch) else document_in(step)) == expected


@requirement("SR-5.5")
@requirement("SR-5.7.c")
@given(history=histories())
@examples
def test_a_position_inside_a_revision_is_of_another_history(history: History) -> None:
    for log, oracle in play(*history):
        head = log.head.position
        known = set(oracle.heads)
        for revision in range(head.revision + 2):
            for length in range(0, head.length + 3, 1 + head.length // 40):
                position = Position(head.epoch, revision, length)
                if position in known:
                    continue
                reading = log.read(position)
                assert document_in(reading.step) == oracle.content
                if revision > head.revision:
                    assert reading.reset == "ahead"
                else:
                    assert reading.reset == ("expired" if revision < oracle.floor else "epoch")


@requirement("M7")
@requirement("SR-6.1")
@given(history=histories(), page=bounds, append_op=st.booleans(), data=st.data())
@examples
def test_a_reader_is_right_through_drops_repeats_and_reordering(
    history: History, page: int | None, append_op: bool, data: st.DataObject
) -> None:
    reader = JsonReader()
    sent: list[Update] = []
    last = Position(FIRST_EPOCH, 0, 0)
    for log, oracle in play(*history):
        sent.append(answer_of(log.read(last, append_op=append_op)))
        last = log.head.position

        for index in data.draw(st.lists(st.integers(0, len(sent) - 1), max_size=3), label="delivered"):
            delta = sent[index]
            gap = delta.since is None or reader.take(delta) == "gap"
            if gap and data.draw(st.booleans(), label="reads since"):
                reader.catch_up(log, max_bytes=page, append_op=append_op)
            cursor = reader.reassembler.cursor
            assert reader.content == (oracle.at(decode_cursor(cursor, URI)) if cursor else None)

    reader.catch_up(log, max_bytes=page, append_op=append_op)
    assert reader.content == oracle.content
    assert reader.reassembler.state == oracle.state
