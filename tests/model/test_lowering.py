"""`append` in the words of RFC 6902: what a reader that knows no `append` gets leads to the very same document."""

from __future__ import annotations

import json
import time
from copy import deepcopy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.model.json_value import encode_json
from streamres.model.lowering import lowered_from, lowered_to
from streamres.model.patch import merged

from .json_oracle import QUICKLY, Operation, growing, patched, patches

Json = Any

TALK: Json = {
    "messages": [{"role": "user", "text": "Hi"}],
    "tokens": 0,
    "state": "idle",
    "names": {"²": "", "³": ""},
}


def op(name: str, path: str, **members: object) -> Operation:
    members = {"from" if member == "source" else member: value for member, value in members.items()}
    return {"op": name, "path": path, **members}


def plainly(document: Json, patch: list[Operation]) -> bytes:
    """The JSON of the document after a patch of RFC 6902 alone, as a library that knows no more applies it."""
    assert not [operation for operation in patch if operation["op"] == "append"]
    return encode_json(jsonpatch.JsonPatch(patch).apply(deepcopy(document)))


@requirement("SR-2.5.b")
@requirement("SR-3.2")
@settings(QUICKLY, max_examples=400)
@given(data=st.data())
def test_a_lowered_history_leads_to_the_very_document_or_there_is_none(data: st.DataObject) -> None:
    before = data.draw(growing)
    history = data.draw(patches(before, sound=True, max_size=8))
    after = patched(before, history)
    kept = deepcopy((before, history, after))

    for lowered in (lowered_to(after, history), lowered_from(before, history)):
        if lowered is not None:
            assert plainly(before, lowered) == encode_json(after)
            assert plainly(before, merged(lowered)) == encode_json(after)
    assert (before, history, after) == kept, "what was given is as it was"


@requirement("SR-3.3")
@settings(QUICKLY, max_examples=200)
@given(data=st.data())
def test_merged_operations_lead_to_the_very_document(data: st.DataObject) -> None:
    before = data.draw(growing)
    history = data.draw(patches(before, sound=True, max_size=8))
    twice = [operation for operation in history for _ in range(1 + (operation["op"] in ("append", "replace")))]
    after = patched(before, twice) if twice != history and applies(before, twice) else None

    assert encode_json(patched(before, merged(history))) == encode_json(patched(before, history))
    if after is not None:
        assert encode_json(patched(before, merged(twice))) == encode_json(after)
        assert len(merged(twice)) <= len(twice)


def applies(document: Json, patch: list[Operation]) -> bool:
    try:
        patched(document, patch)
    except Exception:  # the oracle's refusal
        return False
    return True


def said(words: int, place: str, *, counting: bool) -> list[Operation]:
    """A message that grows word by word, with a counter between."""
    operations = []
    for number in range(words):
        operations.append(op("append", place, value=f" word{number}"))
        if counting:
            operations.append(op("replace", "/tokens", value=number))
    return operations


ANSWER = op("add", "/messages/-", value={"role": "assistant", "text": ""})

USUAL: dict[str, list[Operation]] = {
    "a message that grows": said(50, "/messages/0/text", counting=False),
    "with a counter between": said(50, "/messages/0/text", counting=True),
    "a thousand words and a counter": said(1_000, "/messages/0/text", counting=True),
    "and then the next one": [
        *said(20, "/messages/0/text", counting=True),
        ANSWER,
        *said(20, "/messages/1/text", counting=True),
    ],
    "and then the next one, by its index": [
        *said(5, "/messages/0/text", counting=True),
        {**ANSWER, "path": "/messages/1"},
        *said(5, "/messages/1/text", counting=True),
        op("remove", "/messages/1"),
    ],
    "ten messages": [
        part
        for number in range(10)
        for part in (
            *said(10, f"/messages/{number}/text", counting=True),
            ANSWER,
            op("remove", "/state"),
            op("add", "/state", value="busy"),
        )
    ],
    "two that grow in turns": [
        ANSWER,
        *[op("append", f"/messages/{number % 2}/text", value="x") for number in range(40)],
    ],
    "a name that only looks like an index": [
        op("append", "/names/²", value="a"),
        op("add", "/names/³", value="b"),
        op("append", "/names/²", value="c"),
    ],
    "one that is rewritten while it grows": [
        op("append", "/state", value="x"),
        op("replace", "/state", value="new"),
        op("append", "/state", value="y"),
    ],
    "one that goes when it has grown": [op("append", "/state", value="x"), op("remove", "/state")],
    "all of it replaced in the end": [*said(5, "/messages/0/text", counting=True), op("replace", "", value=[1])],
}


@requirement("SR-2.5.b")
@requirement("SR-5.10")
@pytest.mark.parametrize("history", USUAL.values(), ids=USUAL)
def test_what_agents_usually_do_is_lowered(history: list[Operation]) -> None:
    after = patched(TALK, history)

    lowered = lowered_to(after, history)

    assert lowered is not None
    assert plainly(TALK, lowered) == encode_json(after)


FROM_BEFORE = [
    "a message that grows",
    "with a counter between",
    "a thousand words and a counter",
    "a name that only looks like an index",
    "one that goes when it has grown",
    "all of it replaced in the end",
]


@requirement("SR-2.3")
@pytest.mark.parametrize("history", [USUAL[name] for name in FROM_BEFORE], ids=FROM_BEFORE)
def test_a_string_that_is_where_it_was_grows_without_a_copy_of_the_document(history: list[Operation]) -> None:
    lowered = lowered_from(TALK, history)

    assert lowered is not None
    assert plainly(TALK, lowered) == encode_json(patched(TALK, history))


UNCLEAR: dict[str, list[Operation]] = {
    "copied while it grows": [op("append", "/state", value="x"), op("copy", "/old", source="/state")],
    "copied with what holds it": [
        op("append", "/messages/0/text", value="x"),
        op("copy", "/old", source="/messages"),
    ],
    "tested while it grows": [op("append", "/state", value="x"), op("test", "/state", value="idlex")],
    "tested with the whole": [op("append", "/tokens2", value="x"), op("test", "", value={"tokens2": "x"})],
    "moved": [op("append", "/state", value="x"), op("move", "/phase", source="/state")],
    "pushed on by another": [
        op("append", "/messages/0/text", value="x"),
        op("add", "/messages/0", value={"role": "system", "text": ""}),
    ],
    "moved up by one that goes": [
        op("add", "/messages/0", value={"role": "system", "text": ""}),
        op("append", "/messages/1/text", value="x"),
        op("remove", "/messages/0"),
    ],
    "moved up by one that is moved away": [
        op("add", "/messages/0", value={"role": "system", "text": ""}),
        op("append", "/messages/1/text", value="x"),
        op("move", "/first", source="/messages/0"),
    ],
    "pushed on by one that is moved there": [
        op("append", "/messages/0/text", value="x"),
        op("move", "/messages/0", source="/state"),
    ],
    "pushed on by one that is copied there": [
        op("append", "/messages/0/text", value="x"),
        op("copy", "/messages/0", source="/state"),
    ],
}


@requirement("SR-2.5.b")
@pytest.mark.parametrize("history", UNCLEAR.values(), ids=UNCLEAR)
def test_a_string_that_was_read_or_moved_as_it_grew_is_not_guessed(history: list[Operation]) -> None:
    before = {"tokens2": ""} if history[0]["path"] == "/tokens2" else TALK

    assert lowered_to(patched(before, history), history) is None


@requirement("SR-12.3")
@pytest.mark.parametrize(
    "name", ["9" * 5_000, "²", "01", "-"], ids=["5,000 digits", "a superscript", "01", "a dash"]
)
def test_names_that_only_look_like_an_index_are_no_trouble(name: str) -> None:
    document = {name: "a", name + "0": "b", "1": "c"}
    history = [
        op("append", f"/{name}", value="x"),
        op("add", f"/{name}0", value="y"),
        op("add", "/1", value="z"),
        op("append", f"/{name}", value="x"),
    ]
    after = patched(document, history)

    for lowered in (lowered_to(after, history), lowered_from(document, history)):
        if lowered is not None:
            assert plainly(document, lowered) == encode_json(after)


@requirement("SR-12.3")
def test_to_look_for_it_takes_no_longer_than_its_budget() -> None:
    document = {"n": 0, **{f"s{number}": "" for number in range(2_000)}}
    history = [
        part
        for number in range(2_000)
        for part in (op("append", f"/s{number}", value="x"), op("replace", "/n", value=number))
    ]
    after = patched(document, history)
    begin = time.process_time()

    lowered = lowered_to(after, history), lowered_from(document, history)

    assert time.process_time() - begin < 2
    assert lowered == (None, None)


@requirement("SR-12.3")
def test_a_long_string_that_grows_often_is_held_once() -> None:
    long = {"text": "x" * 1_000_000, "n": 0}
    history = [
        part
        for number in range(300)
        for part in (op("append", "/text", value="y"), op("replace", "/n", value=number))
    ]

    lowered = lowered_from(long, history)

    assert lowered is not None
    assert len(json.dumps(lowered)) < 2_000_000
