"""A delta of a document is a patch, with `append` for who declared it; by URI its media type tells."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import pytest
import uritemplate
from requirement import requirement

from .documents import CAPABILITIES, COUNTS, FIRST, GROWS
from .frames import STREAM
from .wire import EXTENSION, envelope

if TYPE_CHECKING:
    from .documents import Document
    from .frames import Answer
    from .wire import Binding


@requirement("SR-5.2")
@requirement("SR-2.3")
@requirement("SR-2.5.a")
async def test_a_delta_is_one_patch_from_cursor_to_cursor(document: Document, binding: Binding) -> None:
    start = await document.cursor()
    await document.patch(GROWS)
    await document.patch(COUNTS, {**GROWS, "value": "!"})

    answer = await document.since(binding, start, "append")

    assert answer.result["contents"] == []
    members = answer.stream(binding)
    assert set(members) == {"cursor", "revision", "state", "delta"}
    assert set(members["delta"]) == {"from", "to", "kind", "patch"}
    assert (members["delta"]["from"], members["delta"]["to"]) == (start, members["cursor"])
    assert members["delta"]["kind"] == "json"
    assert members["delta"]["patch"] == [GROWS, COUNTS, {**GROWS, "value": "!"}]
    assert members["revision"] == 2


DECLARATIONS: dict[str, tuple[tuple[str, ...], bool]] = {
    "append": (("append",), True),
    "append among others": (("merge", "append", "x"), True),
    "nothing": ((), False),
    "another": (("insert",), False),
}


@requirement("SR-2.5")
@requirement("SR-10.6")
@pytest.mark.parametrize(("patch_ops", "append"), DECLARATIONS.values(), ids=DECLARATIONS)
async def test_append_is_sent_to_whom_it_was_declared_by_and_the_equal_replace_to_others(
    document: Document, binding: Binding, patch_ops: tuple[str, ...], append: bool
) -> None:
    start = await document.cursor()
    await document.patch(GROWS)

    delta = (await document.since(binding, start, *patch_ops)).stream(binding)["delta"]

    replaces = {"op": "replace", "path": GROWS["path"], "value": "Hi there"}
    assert delta["patch"] == ([GROWS] if append else [replaces])


@requirement("SR-2.5.b")
@requirement("SR-10.5")
async def test_who_uses_members_without_declaring_is_sent_rfc_6902_alone(
    document: Document, binding: Binding
) -> None:
    start = await document.cursor()
    await document.patch(GROWS)

    members = (await document.read(binding, since=start)).stream(binding)

    assert [operation["op"] for operation in members["delta"]["patch"]] == ["replace"]


@requirement("SR-10.6")
@pytest.mark.parametrize("setting", ["append", 1, {"append": True}, True], ids=repr)
async def test_operations_that_are_no_list_are_refused(document: Document, setting: object) -> None:
    meta = envelope()
    meta[CAPABILITIES] = {"extensions": {EXTENSION: {"patchOps": setting}}}

    answer = await document.ask("resources/read", {"uri": document.uri, "_meta": meta})

    assert answer.refusal == (400, -32602, {"reason": "invalid_params"})


@requirement("SR-5.3")
@requirement("SR-3.4")
async def test_at_the_head_the_patch_is_empty_and_at_the_seal_it_has_the_digest(
    document: Document, binding: Binding
) -> None:
    await document.resource.replace({"b": [], "a": 1})
    start = await document.cursor()
    empty = (await document.since(binding, start)).stream(binding)
    await document.resource.seal()
    sealed = (await document.since(binding, start)).stream(binding)
    again = (await document.since(binding, sealed["cursor"])).stream(binding)
    whole = (await document.read(binding)).stream(binding)

    assert empty["delta"] == {"from": start, "to": start, "kind": "json", "patch": []}
    assert sealed["delta"] == {"from": start, "to": sealed["cursor"], "kind": "json", "patch": []}
    digest = "sha-256=:+H5Amem+XnUJTgpPRtPcGKnDdCkxSlokkPt40x5+Fww=:"
    assert sealed["digest"] == again["digest"] == whole["digest"] == digest
    assert [members["state"] for members in (empty, sealed, again, whole)] == ["open", *["complete"] * 3]


@requirement("SR-5.4")
async def test_a_read_that_waits_is_answered_with_the_patch(document: Document, binding: Binding) -> None:
    start = await document.cursor()
    answers: list[Answer] = []

    async def wait() -> None:
        answers.append(await document.since(binding, start, "append", waitMs=4_000))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await document.patch(GROWS)

    assert answers[0].stream(binding)["delta"]["patch"] == [GROWS]


@requirement("SR-5.7.c")
@requirement("SR-5.7.d")
async def test_a_bounded_delta_stops_between_patches_and_says_more(document: Document, binding: Binding) -> None:
    start = await document.cursor()
    for number in range(5):
        await document.patch({"op": "add", "path": f"/{number}", "value": "x" * 100})

    sizes, cursor, more = [], start, True
    while more:
        members = (await document.since(binding, cursor, "append", maxBytes=300)).stream(binding)
        assert len(json.dumps(members["delta"]["patch"], separators=(",", ":"))) <= 300
        sizes.append(len(members["delta"]["patch"]))
        cursor, more = members["cursor"], members.get("more", False)

    assert sizes == [2, 2, 1]


@requirement("SR-5.10")
async def test_where_the_delta_would_take_more_the_document_comes_with_reset_smaller(
    document: Document, binding: Binding
) -> None:
    start = await document.cursor()
    for number in range(100):
        await document.patch({"op": "add", "path": "/text", "value": f"{number:0100}"})

    answer = await document.since(binding, start)

    members = answer.stream(binding)
    assert set(members) == {"cursor", "revision", "state", "reset", "kind"}
    assert (members["reset"], members["revision"]) == ("smaller", 100)
    assert json.loads(answer.text) == {**FIRST, "text": f"{99:0100}"}


@requirement("SR-5.5")
@requirement("SR-2.4")
async def test_a_replaced_document_is_reset(document: Document, binding: Binding) -> None:
    start = await document.cursor()
    await document.resource.replace([1])

    answer = await document.since(binding, start)

    assert (answer.stream(binding)["reset"], answer.text) == ("epoch", "[1]")


async def expanded(document: Document, **members: object) -> str:
    listed = (await document.ask("resources/templates/list")).result["resourceTemplates"]
    templates = [entry["uriTemplate"] for entry in listed]
    (template,) = [template for template in templates if template.startswith(document.uri + "{")]
    return uritemplate.expand(template, **members)


async def read_by_uri(document: Document, uri: str) -> tuple[dict[str, Any], dict[str, Any]]:
    result = (await document.ask("resources/read", {"uri": uri})).result
    (item,) = result["contents"]
    assert set(result) == {"resultType", "contents", "ttlMs", "cacheScope", "_meta"}
    assert item["uri"] == uri
    return item, item["_meta"][STREAM]


@requirement("SR-10.4")
async def test_by_uri_the_delta_is_contents_of_the_type_of_a_patch(document: Document) -> None:
    whole, first = await read_by_uri(document, await expanded(document, maxBytes=10))
    await document.patch({"op": "add", "path": "/é\n", "value": 'a "quoted" \u2028 text'}, GROWS)

    delta, then = await read_by_uri(document, await expanded(document, since=first["cursor"]))
    empty, _ = await read_by_uri(document, await expanded(document, since=then["cursor"]))

    assert (whole["mimeType"], json.loads(whole["text"])) == ("application/json", FIRST)
    assert (first["kind"], "delta" in first) == ("json", False)
    assert delta["mimeType"] == "application/json-patch+json"
    assert json.loads(delta["text"]) == [
        {"op": "add", "path": "/é\n", "value": 'a "quoted" \u2028 text'},
        {"op": "replace", "path": "/messages/0/text", "value": "Hi there"},
    ]
    assert then["delta"] == {"from": first["cursor"], "to": then["cursor"], "kind": "json"}
    assert (empty["mimeType"], empty["text"]) == ("application/json-patch+json", "[]")


@requirement("SR-10.4")
@requirement("SR-5.10")
async def test_by_uri_a_whole_document_for_a_delta_is_told_from_a_patch(document: Document) -> None:
    _, first = await read_by_uri(document, await expanded(document, maxBytes=10))
    for number in range(100):
        await document.patch({"op": "add", "path": "/text", "value": f"{number:0100}"})

    item, then = await read_by_uri(document, await expanded(document, since=first["cursor"]))

    assert (item["mimeType"], then["reset"]) == ("application/json", "smaller")
    assert json.loads(item["text"])["text"] == f"{99:0100}"
