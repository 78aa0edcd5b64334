"""The patch between two documents: it leads exactly there, or is the whole document; and it is found in time."""

from __future__ import annotations

import json
import random
import time
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model.json_oracle import QUICKLY, documents, growing, patched, patches
from requirement import requirement

from streamres import Server
from streamres.errors import DeltaError, RevisionConflict
from streamres.limits import Limits
from streamres.model import Patch, Position, Reading, ResourceLog
from streamres.model.json_value import encode_json
from streamres.sources import difference as difference_module
from streamres.sources.difference import difference
from streamres.store import MemoryStore

Json = Any


def canonical(value: Json) -> str:
    """Tells 1, 1.0 and true apart, and asks nothing of the order of members."""
    return json.dumps(value, sort_keys=True)


def leads(before: Json, after: Json, patch: list[dict[str, Any]]) -> None:
    """A log takes the patch, and the oracle and the log come to the very same document."""
    kept = canonical(before)
    log = ResourceLog("agent://7/state", epoch=1, kind="json", content=encode_json(before))

    log.commit(encode_json(patch))

    document = json.loads(b"".join(log.read().step.slices()))  # type: ignore[union-attr]
    assert canonical(document) == canonical(patched(before, patch)) == canonical(after)
    assert canonical(before) == kept, "what was compared is as it was"


@requirement("SR-2.3")
@settings(QUICKLY, max_examples=200)
@given(documents, documents)
def test_between_any_two_documents_it_leads_exactly_there(before: Json, after: Json) -> None:
    patch = difference(before, after)

    leads(before, after, patch)
    assert (patch == []) == (canonical(before) == canonical(after))
    assert {operation["op"] for operation in patch} <= {"add", "remove", "replace", "append"}


@requirement("SR-2.3")
@requirement("SR-2.5.a")
@settings(QUICKLY, max_examples=200)
@given(data=st.data())
def test_after_any_changes_it_leads_exactly_there(data: st.DataObject) -> None:
    before = data.draw(growing)
    after = patched(before, data.draw(patches(before, sound=True)))

    patch = difference(before, after)

    leads(before, after, patch)
    assert len(encode_json(patch)) <= len(encode_json([{"op": "replace", "path": "", "value": after}]))


EQUAL: list[Json] = [None, 0, 1.0, "", [], {}, {"a": [1, {"b": None}]}, {"a": 2**70}]


@pytest.mark.parametrize("value", EQUAL, ids=json.dumps)
def test_equal_documents_differ_in_nothing(value: Json) -> None:
    assert difference(value, deepcopy(value)) == []


def test_members_in_another_order_are_no_difference() -> None:
    assert difference({"a": 1, "b": 2}, {"b": 2, "a": 1}) == []


STRICT: list[tuple[Json, Json]] = [
    (1, 1.0),
    (1, True),
    (0, False),
    (1.0, True),
    (None, False),
    ("1", 1),
    ("", None),
    ([], {}),
    (0.0, -0.0),
    (2**53, 2**53 + 1),
    (2**70, float(2**70)),
]


@requirement("SR-2.3")
@pytest.mark.parametrize(("one", "other"), STRICT, ids=repr)
@pytest.mark.parametrize("inside", ["alone", "member", "item", "item of many"])
def test_values_that_python_holds_for_equal_are_told_apart(one: Json, other: Json, inside: str) -> None:
    wrapped = {
        "alone": lambda value: value,
        "member": lambda value: {"rest": "x" * 200, "a": value},
        "item": lambda value: ["x" * 200, value],
        "item of many": lambda value: [*range(100, 400), value, {"a": [value]}],
    }[inside]

    patch = difference(wrapped(one), wrapped(other))

    assert patch
    assert inside == "alone" or patch[0]["path"], "one change, and not all of it"
    leads(wrapped(one), wrapped(other), patch)


@requirement("SR-2.5.a")
def test_a_string_that_grew_is_appended_to_and_one_change_is_one_operation() -> None:
    before = {"messages": [{"text": "Hi" * 100}], "n": 1}
    after = {"messages": [{"text": "Hi" * 100 + " there"}], "n": 2}

    patch = difference(before, after)

    assert patch == [
        {"op": "append", "path": "/messages/0/text", "value": " there"},
        {"op": "replace", "path": "/n", "value": 2},
    ]


def test_an_item_at_the_front_of_a_long_list_is_one_operation() -> None:
    rows = [{"id": number, "text": "x" * 20} for number in range(2_000)]

    # However busy the machine is that tests it.
    found = difference(rows, [{"id": -1}, *rows], budget_s=60)

    assert found == [{"op": "add", "path": "/0", "value": {"id": -1}}]


def test_one_change_in_a_document_of_half_a_megabyte_is_found() -> None:
    before = {str(number): number for number in range(25_000)}

    patch = difference(before, {**before, "700": "x"}, budget_s=10)

    assert patch == [{"op": "replace", "path": "/700", "value": "x"}]


def test_a_document_over_the_budget_of_bytes_is_replaced() -> None:
    before, after = {"a": "x" * 100, "n": 1}, {"a": "x" * 100, "n": 2}

    assert difference(before, after, budget_bytes=100) == [{"op": "replace", "path": "", "value": after}]
    assert len(difference(before, after, budget_bytes=200)) == 1
    assert difference(before, after, budget_bytes=200)[0]["path"] == "/n"
    assert difference(after, deepcopy(after), budget_bytes=0) == []


def test_where_the_time_is_up_it_is_replaced() -> None:
    before, after = [{"a": number} for number in range(100)], [{"a": -number} for number in range(100)]

    assert difference(before, after, budget_s=-1) == [{"op": "replace", "path": "", "value": after}]


def numbers(count: int, kinds: int) -> list[int]:
    draw = random.Random(count + kinds)
    return [draw.randrange(kinds) for _ in range(count)]


SLOW: dict[str, tuple[Json, Json]] = {
    "many of few": (numbers(100_000, 10), numbers(100_001, 10)),
    "many of some": (numbers(100_000, 1_000), numbers(100_001, 1_000)),
    "all in reverse": (list(range(100_000)), list(range(100_000))[::-1]),
    "objects that all moved": ([{"id": n} for n in range(40_000)], [{"id": n + 7} for n in range(40_000)]),
    "lists of lists": ([numbers(400, 3)] * 200, [numbers(401, 3)] * 200),
}


@requirement("SR-12.3")
@pytest.mark.parametrize(("before", "after"), SLOW.values(), ids=SLOW)
def test_what_is_slow_to_compare_is_given_up_in_time(before: Json, after: Json) -> None:
    begin = time.process_time()

    patch = difference(before, after)

    assert time.process_time() - begin < 3
    assert patch == [{"op": "replace", "path": "", "value": after}]


@requirement("SR-12.3")
def test_items_that_are_slow_to_match_are_given_up_in_time() -> None:
    """Each item is told apart within the budget; to match them up would take twenty times as long."""
    begin = time.process_time()

    difference(numbers(60_000, 300), numbers(60_001, 300), budget_s=1)

    assert time.process_time() - begin < 4


def test_more_operations_than_a_patch_may_have_are_one() -> None:
    before = {str(number): [number, "x" * 100] for number in range(1_500)}
    after = {name: [-1, text] for name, (_, text) in before.items()}

    assert difference(before, after, budget_s=10) == [{"op": "replace", "path": "", "value": after}]


def test_a_difference_that_would_lead_elsewhere_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is trusted with nothing: what it finds is applied, and compared with what was asked for."""
    monkeypatch.setattr(difference_module, "_compared", lambda *_: [{"op": "add", "path": "/a", "value": 1}])

    assert difference({}, {"a": True, "b": "x" * 100}) == [
        {"op": "replace", "path": "", "value": {"a": True, "b": "x" * 100}}
    ]


@pytest.mark.parametrize("value", [float("nan"), {1: 2}, {"a": {3}}, "\ud800"], ids=repr)
def test_what_is_no_document_is_refused(value: object) -> None:
    with pytest.raises(DeltaError):
        difference({}, value)


@requirement("SR-2.3")
@settings(QUICKLY, max_examples=60)
@given(values=st.lists(documents, min_size=1, max_size=5))
async def test_set_makes_the_document_what_it_is_told(values: list[Json]) -> None:
    server = Server("documents")
    resource = await server.create("agent://7/state", kind="json", value=values[0])
    for value in values:
        revision, same = resource.revision, canonical(await document(server)) == canonical(value)

        await resource.set(value)

        assert canonical(await document(server)) == canonical(value)
        assert resource.revision == revision + (not same)


async def document(server: Server) -> Json:
    return json.loads(b"".join((await server.store.read("agent://7/state")).step.slices()))  # type: ignore[union-attr]


@requirement("SR-2.5.a")
async def test_set_of_a_string_that_grew_sends_what_was_added() -> None:
    server = Server("documents", limits=Limits(json_bytes=10_000))
    resource = await server.create("agent://7/state", kind="json", value={"text": "x" * 1_000})
    start = resource.revision

    await resource.set({"text": "x" * 1_000 + "y"})

    entry = await server.store.entry("agent://7/state")
    step = (await server.store.read("agent://7/state", Position(entry.head.position.epoch, start, 0))).step
    assert isinstance(step, Patch)
    assert step.operations == b'[{"op":"append","path":"/text","value":"y"}]'


@requirement("SR-9.2")
async def test_set_does_not_undo_what_another_does_meanwhile() -> None:
    class ChangedAfterARead(MemoryStore):
        """Another producer is always a little quicker."""

        async def read(self, uri: str, since: Position | None = None, **options: Any) -> Reading:  # noqa: ANN401
            reading = await super().read(uri, since, **options)
            if (await self.entry(uri)).head.position.revision == 0:
                await self.append(uri, b'[{"op":"add","path":"/b","value":2}]')
            return reading

    server = Server("documents", store=ChangedAfterARead())
    resource = await server.create("agent://7/state", kind="json", value={"a": 1})

    with pytest.raises(RevisionConflict):
        await resource.set({"a": 3})

    assert await document(server) == {"a": 1, "b": 2}
