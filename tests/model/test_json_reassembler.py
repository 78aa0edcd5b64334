"""The reader's half with documents: each patch once, a gap changes nothing, a lie is found at the seal."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from requirement import requirement

from streamres.errors import DeltaError, DigestMismatch
from streamres.model import Position, Reassembler, ResourceLog, Update
from streamres.model.json_value import encode_json

from .histories import URI
from .json_histories import JsonReader, answer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = Any


def log_of(value: Json) -> ResourceLog:
    return ResourceLog(URI, epoch=1, kind="json", content=encode_json(value))


def reader_of(log: ResourceLog) -> JsonReader:
    reader = JsonReader()
    reader.catch_up(log)
    return reader


def patch(log: ResourceLog, *operations: Json, append_op: bool = True) -> Update:
    """Makes a patch and gives its delta, as a notification carries it."""
    before = log.head.position
    log.commit(json.dumps(operations).encode())
    return answer_of(log.read(before, append_op=append_op))


def add(name: str, value: Json) -> Json:
    return {"op": "add", "path": f"/{name}", "value": value}


def counted(log: ResourceLog, *, append_op: bool) -> Iterator[Update]:
    for number in range(5):
        growth = {"op": "append", "path": "/text", "value": f"{number}"}
        yield patch(log, add("n", number), growth, append_op=append_op)


@requirement("M7")
@pytest.mark.parametrize("append_op", [True, False], ids=["append", "RFC 6902 alone"])
def test_patches_in_order_are_applied_once_each_and_handed_over_with_the_document(append_op: bool) -> None:
    log = log_of({"text": ""})
    reader = reader_of(log)
    values = []
    for delta in list(counted(log, append_op=append_op)):
        assert reader.take(delta) == "applied"
        assert [reader.take(delta) for _ in range(2)] == ["duplicate"] * 2
        values.append(json.loads(reader.content or b""))

    assert values == [{"text": "01234"[: n + 1], "n": n} for n in range(5)]


@requirement("M7")
@requirement("SR-6.3")
def test_a_gap_leaves_the_document_until_a_read_since_fills_it() -> None:
    log = log_of({"a": 1})
    reader = reader_of(log)
    before = reader.known
    lost = patch(log, add("lost", 1))
    late = patch(log, {"op": "test", "path": "/lost", "value": 1}, add("b", 2))

    assert [reader.take(late), reader.take(late)] == ["gap"] * 2
    assert reader.known == before

    assert [reader.take(lost), reader.take(late)] == ["applied"] * 2
    assert reader.content == b'{"a":1,"lost":1,"b":2}'


@requirement("M7")
def test_patches_from_the_past_do_nothing_again() -> None:
    log = log_of([])
    reader = reader_of(log)
    old = [patch(log, {"op": "add", "path": "/-", "value": number}) for number in range(3)]
    reader.catch_up(log)
    before = reader.known

    assert [reader.take(delta) for delta in old] == ["gap", "gap", "duplicate"]
    assert reader.known == before


@requirement("M7")
def test_before_the_first_snapshot_every_patch_is_a_gap() -> None:
    log = log_of({})
    reader = JsonReader()

    assert reader.take(patch(log, add("a", 1))) == "gap"
    assert reader.known == (None, None, "open")


@requirement("M3")
@requirement("SR-2.3.b")
@pytest.mark.parametrize("value", [{"a": 1}, None, [], "a"], ids=json.dumps)
def test_a_patch_that_does_not_apply_leaves_the_reader_where_it_was(value: Json) -> None:
    log = log_of(value)
    reader = reader_of(log)
    before = reader.known
    good = patch(log, {"op": "replace", "path": "", "value": [0]})
    bad = replace(good, patch=[*(good.patch or []), {"op": "remove", "path": "/7"}])

    with pytest.raises(DeltaError):
        reader.take(bad)

    assert reader.known == before
    assert reader.take(good) == "applied"
    assert reader.content == b"[0]"


@requirement("M7")
@requirement("SR-3.4.a")
def test_a_reader_with_a_cursor_of_another_follows_without_knowing_the_document() -> None:
    log = log_of({"text": ""})
    reader = Reassembler(URI, since=answer_of(log.read()).cursor)
    delta = patch(log, add("a", 1), {"op": "append", "path": "/text", "value": "x"})

    assert reader.delta(delta) == "applied"
    assert reader.with_value(delta) == delta
    assert delta.value is None

    log.commit(b"", seal="complete")
    assert reader.delta(answer_of(log.read(Position(1, 1, log.head.position.length)))) == "applied"
    assert reader.sealed


@requirement("SR-5.10")
@pytest.mark.parametrize("reset", ["smaller", "expired", "epoch", "ahead", None], ids=str)
def test_a_document_that_comes_whole_replaces_what_was_there(reset: str | None) -> None:
    log = log_of({"a": 1})
    reader = reader_of(log)
    patch(log, add("b", 2))
    whole = replace(answer_of(log.read()), reset=reset)

    news = reader.reassembler.snapshot(whole)

    assert (news.value, news.patch) == ({"a": 1, "b": 2}, None)
    assert news.reset == (reset or "epoch")
    assert reader.take(patch(log, add("c", 3))) == "applied"
    assert reader.content == b'{"a":1,"b":2,"c":3}'


def sealed(log: ResourceLog, *operations: Json) -> tuple[Update, Update]:
    """The delta of a patch that seals, and the document there."""
    before = log.head.position
    log.commit(json.dumps(operations).encode() if operations else b"", seal="complete")
    return answer_of(log.read(before)), answer_of(log.read())


@requirement("SR-3.4.a")
@requirement("SR-3.4.b")
def test_a_seal_proves_the_document() -> None:
    log = log_of({"b": [1.0, "é"], "a": 0})
    by_delta, by_snapshot, late = reader_of(log), JsonReader(), reader_of(log)
    delta, snapshot = sealed(log, add("c", {}))

    assert by_delta.take(delta) == "applied"
    by_snapshot.take(snapshot)
    late.take(snapshot)

    assert delta.digest == snapshot.digest is not None
    assert by_delta.known == by_snapshot.known == late.known
    assert by_delta.reassembler.sealed


WRONG: dict[str, Json] = {
    "another value": {"a": 2},
    "another type": {"a": "1"},
    "true for 1": {"a": True},
    "a member more": {"a": 1, "b": None},
    "one outside I-JSON": {"a": 2**60},
}


@requirement("SR-3.4")
@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_another_document_than_was_sealed_is_found_and_read_anew(value: Json) -> None:
    log = log_of({"a": 1})
    true = sealed(log)[1]
    reader = JsonReader()
    reader.take(replace(true, value=value, digest=None, state="open", cursor="before"))

    seal = replace(true, value=None, patch=[], since="before")

    with pytest.raises(DigestMismatch) as caught:
        reader.take(seal)

    assert caught.value.expected == true.digest
    assert not reader.reassembler.sealed
    assert reader.reassembler.cursor is None, "what it holds is wrong: it begins again"
    with pytest.raises(DigestMismatch):
        reader.take(replace(true, value=value))
    reader.take(true)
    assert (reader.content, reader.reassembler.sealed) == (b'{"a":1}', True)


@requirement("SR-3.4.c")
def test_a_document_outside_i_json_is_taken_unproved() -> None:
    log = log_of({"n": 2**64})
    reader = reader_of(log)
    delta, snapshot = sealed(log, add("m", 2**80))

    assert reader.take(delta) == "applied"

    assert (delta.digest, snapshot.digest) == (None, None)
    assert (reader.content, reader.reassembler.state) == (encode_json({"n": 2**64, "m": 2**80}), "complete")


@requirement("SR-3.4")
def test_numbers_that_are_equal_in_value_have_one_digest() -> None:
    """RFC 8785 writes 1.0 as 1, and a parser of JavaScript knows no difference."""
    log = log_of({"a": 1.0, "b": -0.0})
    true = sealed(log)[1]
    reader = JsonReader()

    reader.take(replace(true, value={"b": 0, "a": 1}))

    assert reader.reassembler.sealed


@requirement("SR-2.4")
def test_a_null_document_is_a_document() -> None:
    log = log_of({"a": 1})
    reader = reader_of(log)

    assert reader.take(patch(log, {"op": "replace", "path": "", "value": None})) == "applied"

    assert reader.content == b"null"
    assert reader.take(patch(log, {"op": "add", "path": "", "value": []})) == "applied"
    assert reader.content == b"[]"


@requirement("SR-12.3")
def test_a_reader_takes_deltas_of_more_patches_than_one_append_may_have() -> None:
    log = log_of({"n": 0})
    reader = reader_of(log)
    for number in range(3_000):
        patch(log, {"op": "test", "path": "/n", "value": number}, add("n", number + 1))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("streamres.model.json_content.WORTH_BYTES", 1_000_000)

        reader.catch_up(log)

    assert reader.content == b'{"n":3000}'


def test_the_bytes_of_an_update_are_its_document_or_its_patch() -> None:
    log = log_of({"a": 1})
    snapshot = answer_of(log.read())
    delta = patch(log, add("b", 2.0))

    assert (snapshot.data, delta.data) == (b'{"a":1}', b'[{"op":"add","path":"/b","value":2.0}]')
