"""A document read whole: its text, its kind and its seal; to plain MCP a resource like any other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from requirement import requirement

from .documents import COUNTS, FIRST, GROWS
from .frames import STREAM
from .wire import EXTENSION, SERVER_INFO, SUBSCRIPTION_ID

if TYPE_CHECKING:
    from .documents import Document
    from .wire import Binding


@requirement("SR-10.7")
async def test_the_server_says_that_it_has_documents(document: Document) -> None:
    declared = (await document.ask("server/discover")).result["capabilities"]["extensions"][EXTENSION]

    assert set(declared["kinds"]) == {"text", "blob", "json"}


@requirement("SR-5.1")
@requirement("SR-2.3")
async def test_a_snapshot_is_the_document_as_text_and_says_its_kind(document: Document, binding: Binding) -> None:
    answer = await document.read(binding)

    (item,) = answer.result["contents"]
    assert set(item) == {"uri", "mimeType", "text"}
    assert (item["uri"], item["mimeType"]) == (document.uri, "application/json")
    assert item["text"] == json.dumps(FIRST, separators=(",", ":"))
    members = answer.stream(binding)
    assert set(members) == {"cursor", "revision", "state", "kind"}
    assert (members["kind"], members["revision"], members["state"]) == ("json", 0, "open")


@requirement("SR-3.1")
async def test_a_snapshot_is_of_its_revision_though_another_is_as_long(
    document: Document, binding: Binding
) -> None:
    texts = []
    for number in (1, 2, 3):
        await document.patch({"op": "replace", "path": "/n", "value": number})
        answers = [await document.read(binding), await document.read(None)]
        texts += [json.loads(answer.text)["n"] for answer in answers]

    assert texts == [1, 1, 2, 2, 3, 3]


@requirement("SR-8.1.a")
async def test_a_list_says_the_kind_and_no_size(document: Document, binding: Binding) -> None:
    entry = await listed_by(document, binding)

    stream = entry["stream"] if binding == "fields" else entry["_meta"][STREAM]["stream"]
    assert stream == {"kind": "json", "state": "open", "revision": 0}
    assert "size" not in entry


async def listed_by(document: Document, binding: Binding | None = None) -> dict[str, Any]:
    resources = (await document.ask("resources/list", declared=binding)).result["resources"]
    (entry,) = [entry for entry in resources if entry["uri"] == document.uri]
    return entry


@requirement("SR-10.1")
async def test_a_plain_read_is_the_document_and_nothing_else(document: Document) -> None:
    await document.patch(GROWS)
    answer = await document.read(None)
    await document.resource.seal()
    sealed = await document.read(None)

    for result in (answer.result, sealed.result):
        assert set(result) == {"resultType", "contents", "ttlMs", "cacheScope", "_meta"}
        assert set(result["_meta"]) == {SERVER_INFO}
        (item,) = result["contents"]
        assert set(item) == {"uri", "mimeType", "text"}
        assert json.loads(item["text"])["messages"] == [{"text": "Hi there"}]


@requirement("SR-10.1")
async def test_plain_lists_and_subscriptions_have_no_added_member(document: Document) -> None:
    listed = await listed_by(document)
    async with document.listen(None, core={"resourceSubscriptions": [document.uri]}) as frames:
        await frames.take()
        await document.patch(COUNTS)
        update = await frames.take()

    assert listed == {"uri": document.uri, "name": "state", "mimeType": "application/json"}
    assert update["params"] == {"_meta": {SUBSCRIPTION_ID: 1}, "uri": document.uri}


@requirement("SR-3.4.c")
async def test_a_document_outside_i_json_is_sealed_without_a_digest(document: Document, binding: Binding) -> None:
    start = await document.cursor()
    await document.resource.seal("aborted")

    answers = [await document.since(binding, start), await document.read(binding)]

    for answer in answers:
        assert answer.stream(binding)["state"] == "aborted"
        assert "digest" not in answer.stream(binding)
