"""Documents on the wire: the snapshot as text, the delta as a patch, `append` only where it was asked for."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio
import pytest
import uritemplate
from requirement import requirement

from streamres import Limits, Server

from .frames import STREAM
from .wire import EXTENSION, SERVER_INFO, SUBSCRIPTION_ID, Wire, acknowledged, envelope, http_client, moved

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from streamres import Resource

    from .frames import Answer
    from .wire import Binding

_numbers = count(1)
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
BIG = 2**64 + 1

FIRST = {"messages": [{"text": "Hi"}], "n": 0, "big": BIG}
GROWS = {"op": "append", "path": "/messages/0/text", "value": " there"}
COUNTS = {"op": "replace", "path": "/n", "value": BIG}


class Document(Wire):
    """A server with one document, and the hold on it."""

    resource: Resource

    async def patch(self, *operations: dict[str, Any]) -> None:
        await self.resource.patch(operations)

    async def since(self, binding: Binding, cursor: str, *patch_ops: str, **members: object) -> Answer:
        """A read since a cursor by a client that declares these operations."""
        params = {"uri": self.uri, **({} if binding == "meta" else {"since": cursor, **members})}
        meta = asking(*patch_ops)
        if binding == "meta":
            meta[STREAM] = {"since": cursor, **members}
        return await self.ask("resources/read", {**params, "_meta": meta})


def asking(*patch_ops: str, binding: str = "fields") -> dict[str, Any]:
    meta = envelope()
    settings = {"binding": binding, **({"patchOps": list(patch_ops)} if patch_ops else {})}
    meta[CAPABILITIES] = {"extensions": {EXTENSION: settings}}
    return meta


@asynccontextmanager
async def serving(limits: Limits | None = None) -> AsyncIterator[Wire]:
    server = Server("tested", limits=limits)
    async with server.serve(port=0, upload=True) as url, http_client() as http:
        yield Wire(server, url, http)


@pytest.fixture(scope="module")
async def usual() -> AsyncIterator[Wire]:
    async with serving() as wire:
        yield wire


@pytest.fixture(scope="module")
async def narrow() -> AsyncIterator[Wire]:
    """Two hundred bytes of patch in one notification."""
    async with serving(Limits(notification_bytes=200)) as wire:
        yield wire


async def document_on(wire: Wire) -> Document:
    """A document that is the test's own."""
    document = Document(wire.server, wire.url, wire.http, uri=f"agent://{next(_numbers)}/state")
    document.resource = await wire.server.create(document.uri, kind="json", value=FIRST, name="state")
    return document


@pytest.fixture
async def wire(usual: Wire) -> Document:
    return await document_on(usual)


@pytest.fixture
async def tight(narrow: Wire) -> Document:
    return await document_on(narrow)


@requirement("SR-5.1")
@requirement("SR-2.3")
async def test_a_snapshot_is_the_document_as_text_and_says_its_kind(wire: Document, binding: Binding) -> None:
    answer = await wire.read(binding)

    (item,) = answer.result["contents"]
    assert set(item) == {"uri", "mimeType", "text"}
    assert (item["uri"], item["mimeType"]) == (wire.uri, "application/json")
    assert item["text"] == json.dumps(FIRST, separators=(",", ":"))
    members = answer.stream(binding)
    assert set(members) == {"cursor", "revision", "state", "kind"}
    assert (members["kind"], members["revision"], members["state"]) == ("json", 0, "open")


@requirement("SR-3.1")
async def test_a_snapshot_is_of_its_revision_though_another_is_as_long(wire: Document, binding: Binding) -> None:
    texts = []
    for number in (1, 2, 3):
        await wire.patch({"op": "replace", "path": "/n", "value": number})
        texts += [json.loads((await wire.read(binding)).text)["n"], json.loads((await wire.read(None)).text)["n"]]

    assert texts == [1, 1, 2, 2, 3, 3]


@requirement("SR-10.1")
async def test_a_plain_read_is_the_document_and_nothing_else(wire: Document) -> None:
    await wire.patch(GROWS)
    answer = await wire.read(None)
    await wire.resource.seal()
    sealed = await wire.read(None)

    for result in (answer.result, sealed.result):
        assert set(result) == {"resultType", "contents", "ttlMs", "cacheScope", "_meta"}
        assert set(result["_meta"]) == {SERVER_INFO}
        (item,) = result["contents"]
        assert set(item) == {"uri", "mimeType", "text"}
        assert json.loads(item["text"])["messages"] == [{"text": "Hi there"}]


async def listed_by(wire: Document, binding: Binding | None = None) -> dict[str, Any]:
    resources = (await wire.ask("resources/list", declared=binding)).result["resources"]
    (entry,) = [entry for entry in resources if entry["uri"] == wire.uri]
    return entry


@requirement("SR-10.1")
async def test_plain_lists_and_subscriptions_have_no_added_member(wire: Document) -> None:
    listed = await listed_by(wire)
    async with wire.listen(None, core={"resourceSubscriptions": [wire.uri]}) as frames:
        await frames.take()
        await wire.patch(COUNTS)
        update = await frames.take()

    assert listed == {"uri": wire.uri, "name": "state", "mimeType": "application/json"}
    assert update["params"] == {"_meta": {SUBSCRIPTION_ID: 1}, "uri": wire.uri}


@requirement("SR-8.1.a")
async def test_a_list_says_the_kind_and_no_size(wire: Document, binding: Binding) -> None:
    entry = await listed_by(wire, binding)

    stream = entry["stream"] if binding == "fields" else entry["_meta"][STREAM]["stream"]
    assert stream == {"kind": "json", "state": "open", "revision": 0}
    assert "size" not in entry


@requirement("SR-5.2")
@requirement("SR-2.3")
@requirement("SR-2.5.a")
async def test_a_delta_is_one_patch_from_cursor_to_cursor(wire: Document, binding: Binding) -> None:
    start = await wire.cursor()
    await wire.patch(GROWS)
    await wire.patch(COUNTS, {**GROWS, "value": "!"})

    answer = await wire.since(binding, start, "append")

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
    wire: Document, binding: Binding, patch_ops: tuple[str, ...], append: bool
) -> None:
    start = await wire.cursor()
    await wire.patch(GROWS)

    delta = (await wire.since(binding, start, *patch_ops)).stream(binding)["delta"]

    replaces = {"op": "replace", "path": GROWS["path"], "value": "Hi there"}
    assert delta["patch"] == ([GROWS] if append else [replaces])


@requirement("SR-2.5.b")
@requirement("SR-10.5")
async def test_who_uses_members_without_declaring_is_sent_rfc_6902_alone(wire: Document, binding: Binding) -> None:
    start = await wire.cursor()
    await wire.patch(GROWS)

    members = (await wire.read(binding, since=start)).stream(binding)

    assert [operation["op"] for operation in members["delta"]["patch"]] == ["replace"]


@requirement("SR-10.6")
@pytest.mark.parametrize("setting", ["append", 1, {"append": True}, True], ids=repr)
async def test_operations_that_are_no_list_are_refused(wire: Document, setting: object) -> None:
    meta = envelope()
    meta[CAPABILITIES] = {"extensions": {EXTENSION: {"patchOps": setting}}}

    answer = await wire.ask("resources/read", {"uri": wire.uri, "_meta": meta})

    assert answer.refusal == (400, -32602, {"reason": "invalid_params"})


@requirement("SR-2.3")
async def test_numbers_are_exact_digit_by_digit_on_the_wire(wire: Document) -> None:
    start = await wire.cursor()
    numbers = "[18446744073709551617,0.1,1e+22,-0.0,5e-324,1.0,100,9007199254740993]"
    upload = wire.url.replace("/mcp", f"/upload?uri={wire.uri}")
    body = b'[{"op":"add","path":"/x","value":' + numbers.encode() + b"}]"
    assert (await wire.http.post(upload, content=body)).status_code == 200

    async def raw(**params: object) -> str:
        meta = {**asking("append"), **({STREAM: {}} if "since" not in params else {})}
        message = {"jsonrpc": "2.0", "id": 1, "method": "resources/read"}
        body = json.dumps({**message, "params": {"uri": wire.uri, "_meta": meta, **params}}).encode()
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "resources/read", "mcp-name": wire.uri}
        return (await wire.post(body, {"content-type": "application/json", **headers})).text

    assert f'"patch":[{{"op":"add","path":"/x","value":{numbers}}}]' in await raw(since=start)
    assert f'\\"x\\":{numbers}}}"' in await raw()


@requirement("SR-5.3")
@requirement("SR-3.4")
async def test_at_the_head_the_patch_is_empty_and_at_the_seal_it_has_the_digest(
    wire: Document, binding: Binding
) -> None:
    await wire.resource.replace({"b": [], "a": 1})
    start = await wire.cursor()
    empty = (await wire.since(binding, start)).stream(binding)
    await wire.resource.seal()
    sealed = (await wire.since(binding, start)).stream(binding)
    again = (await wire.since(binding, sealed["cursor"])).stream(binding)
    whole = (await wire.read(binding)).stream(binding)

    assert empty["delta"] == {"from": start, "to": start, "kind": "json", "patch": []}
    assert sealed["delta"] == {"from": start, "to": sealed["cursor"], "kind": "json", "patch": []}
    digest = "sha-256=:+H5Amem+XnUJTgpPRtPcGKnDdCkxSlokkPt40x5+Fww=:"
    assert sealed["digest"] == again["digest"] == whole["digest"] == digest
    assert [members["state"] for members in (empty, sealed, again, whole)] == ["open", *["complete"] * 3]


@requirement("SR-3.4.c")
async def test_a_document_outside_i_json_is_sealed_without_a_digest(wire: Document, binding: Binding) -> None:
    start = await wire.cursor()
    await wire.resource.seal("aborted")

    answers = [await wire.since(binding, start), await wire.read(binding)]

    for answer in answers:
        assert answer.stream(binding)["state"] == "aborted"
        assert "digest" not in answer.stream(binding)


@requirement("SR-5.4")
async def test_a_read_that_waits_is_answered_with_the_patch(wire: Document, binding: Binding) -> None:
    start = await wire.cursor()
    answers: list[Answer] = []

    async def wait() -> None:
        answers.append(await wire.since(binding, start, "append", waitMs=4_000))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await wire.patch(GROWS)

    assert answers[0].stream(binding)["delta"]["patch"] == [GROWS]


@requirement("SR-5.7.c")
@requirement("SR-5.7.d")
async def test_a_bounded_delta_stops_between_patches_and_says_more(wire: Document, binding: Binding) -> None:
    start = await wire.cursor()
    for number in range(5):
        await wire.patch({"op": "add", "path": f"/{number}", "value": "x" * 100})

    sizes, cursor, more = [], start, True
    while more:
        members = (await wire.since(binding, cursor, "append", maxBytes=300)).stream(binding)
        assert len(json.dumps(members["delta"]["patch"], separators=(",", ":"))) <= 300
        sizes.append(len(members["delta"]["patch"]))
        cursor, more = members["cursor"], members.get("more", False)

    assert sizes == [2, 2, 1]


@requirement("SR-5.10")
async def test_where_the_delta_would_take_more_the_document_comes_with_reset_smaller(
    wire: Document, binding: Binding
) -> None:
    start = await wire.cursor()
    for number in range(100):
        await wire.patch({"op": "add", "path": "/text", "value": f"{number:0100}"})

    answer = await wire.since(binding, start)

    members = answer.stream(binding)
    assert set(members) == {"cursor", "revision", "state", "reset", "kind"}
    assert (members["reset"], members["revision"]) == ("smaller", 100)
    assert json.loads(answer.text) == {**FIRST, "text": f"{99:0100}"}


@requirement("SR-5.5")
@requirement("SR-2.4")
async def test_a_replaced_document_is_reset(wire: Document, binding: Binding) -> None:
    start = await wire.cursor()
    await wire.resource.replace([1])

    answer = await wire.since(binding, start)

    assert (answer.stream(binding)["reset"], answer.text) == ("epoch", "[1]")


async def expanded(wire: Document, **members: object) -> str:
    templates = (await wire.ask("resources/templates/list")).result["resourceTemplates"]
    (template,) = [entry["uriTemplate"] for entry in templates if entry["uriTemplate"].startswith(wire.uri + "{")]
    return uritemplate.expand(template, **members)


async def read_by_uri(wire: Document, uri: str) -> tuple[dict[str, Any], dict[str, Any]]:
    result = (await wire.ask("resources/read", {"uri": uri})).result
    (item,) = result["contents"]
    assert set(result) == {"resultType", "contents", "ttlMs", "cacheScope", "_meta"}
    assert item["uri"] == uri
    return item, item["_meta"][STREAM]


@requirement("SR-10.4")
async def test_by_uri_the_delta_is_contents_of_the_type_of_a_patch(wire: Document) -> None:
    whole, first = await read_by_uri(wire, await expanded(wire, maxBytes=10))
    await wire.patch({"op": "add", "path": "/é\n", "value": 'a "quoted" \u2028 text'}, GROWS)

    delta, then = await read_by_uri(wire, await expanded(wire, since=first["cursor"]))
    empty, _ = await read_by_uri(wire, await expanded(wire, since=then["cursor"]))

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
async def test_by_uri_a_whole_document_for_a_delta_is_told_from_a_patch(wire: Document) -> None:
    _, first = await read_by_uri(wire, await expanded(wire, maxBytes=10))
    for number in range(100):
        await wire.patch({"op": "add", "path": "/text", "value": f"{number:0100}"})

    item, then = await read_by_uri(wire, await expanded(wire, since=first["cursor"]))

    assert (item["mimeType"], then["reset"]) == ("application/json", "smaller")
    assert json.loads(item["text"])["text"] == f"{99:0100}"


@requirement("SR-6.3")
@requirement("SR-6.5")
@requirement("SR-7.1")
@pytest.mark.parametrize("patch_ops", [("append",), ()], ids=["append", "RFC 6902 alone"])
async def test_a_subscriber_is_sent_each_patch_from_where_it_was(
    wire: Document, binding: Binding, patch_ops: tuple[str, ...]
) -> None:
    start = await wire.cursor()
    await wire.patch(COUNTS)
    async with listening(wire, binding, start, *patch_ops) as frames:
        stand = acknowledged(binding, await frames.take())[wire.uri]
        caught_up = moved(binding, await frames.take())
        await wire.patch(GROWS)
        grown = moved(binding, await frames.take())
        await wire.resource.patch([{"op": "remove", "path": "/big"}, {**COUNTS, "value": 1}])
        await frames.take()
        await wire.resource.seal()
        sealed = moved(binding, await frames.take())
        (end,) = await frames.rest()

    assert stand["cursor"] == caught_up["cursor"]
    assert caught_up["delta"] == {"from": start, "to": stand["cursor"], "kind": "json", "patch": [COUNTS]}
    growth = GROWS if patch_ops else {"op": "replace", "path": GROWS["path"], "value": "Hi there"}
    assert (grown["delta"]["from"], grown["delta"]["patch"]) == (stand["cursor"], [growth])
    assert (sealed["state"], sealed["delta"]["patch"]) == ("complete", [])
    assert sealed["digest"].startswith("sha-256=:")
    assert "result" in end


def listening(wire: Document, binding: Binding, since: str, *patch_ops: str) -> Any:  # noqa: ANN401
    streams = {wire.uri: {"since": since, "deliver": "delta"}}
    params: dict[str, Any] = {"notifications": {}, "_meta": asking(*patch_ops)}
    if binding == "meta":
        params["_meta"][STREAM] = {"resourceStreams": streams}
    else:
        params["notifications"] = {"resourceStreams": streams}
    return wire.raw_listen(params)


@requirement("SR-6.3.c")
async def test_a_patch_that_is_too_large_for_a_notification_is_only_announced(
    tight: Document, binding: Binding
) -> None:
    start = await tight.cursor()
    large = {"op": "add", "path": "/x", "value": "x" * 200}
    async with listening(tight, binding, start, "append") as frames:
        await frames.take()
        await tight.patch(COUNTS)
        small = moved(binding, await frames.take())
        await tight.patch(large)
        announced = moved(binding, await frames.take())
        await tight.patch(GROWS)
        after = moved(binding, await frames.take())

    assert small["delta"]["patch"] == [COUNTS]
    assert set(announced) == {"cursor", "revision", "state"}
    assert after["delta"]["from"] == announced["cursor"], "the chain goes on from what was announced"
    read = (await tight.since(binding, small["cursor"], "append", maxBytes=10)).stream(binding)
    assert (read["cursor"], read["delta"]["patch"]) == (announced["cursor"], [large])


@requirement("SR-6.3.b")
async def test_many_patches_go_in_a_chain_of_bounded_notifications(tight: Document, binding: Binding) -> None:
    cursor = await tight.cursor()
    patches = [{"op": "add", "path": f"/{number}", "value": "x" * 30} for number in range(30)]
    for patch in patches:
        await tight.patch(patch)
    await tight.resource.seal()

    got: list[dict[str, Any]] = []
    async with listening(tight, binding, cursor, "append") as frames:
        await frames.take()
        *updates, _ = await frames.rest()
    for update in updates:
        delta = moved(binding, update)["delta"]
        assert delta["from"] == cursor
        assert len(json.dumps(delta["patch"], separators=(",", ":"))) <= 200
        got += delta["patch"]
        cursor = delta["to"]

    assert got == patches
    assert 10 <= len(updates) <= 20


@requirement("SR-6.3.c")
@requirement("SR-2.5.b")
async def test_a_string_too_long_to_be_sent_whole_is_announced_to_whom_append_means_nothing(
    tight: Document, binding: Binding
) -> None:
    await tight.patch({"op": "add", "path": "/text", "value": "x" * 150})
    start = await tight.cursor()
    async with listening(tight, binding, start) as plain, listening(tight, binding, start, "append") as asked:
        for frames in (plain, asked):
            await frames.take()
        await tight.patch({"op": "append", "path": "/text", "value": "y" * 20})
        told, sent = moved(binding, await plain.take()), moved(binding, await asked.take())

    assert "delta" not in told
    assert told["cursor"] == sent["cursor"]
    assert sent["delta"]["patch"] == [{"op": "append", "path": "/text", "value": "y" * 20}]


@requirement("SR-6.1")
async def test_a_subscriber_by_cursor_is_sent_no_patch(wire: Document, binding: Binding) -> None:
    async with wire.listen(binding, {wire.uri: {}}) as frames:
        await frames.take()
        await wire.patch(GROWS)
        members = moved(binding, await frames.take())

    assert set(members) == {"cursor", "revision", "state"}


REFUSED_UPLOADS: dict[str, tuple[bytes, dict[str, object]]] = {
    "text": (b"more text", {"reason": "invalid_content"}),
    "a document": (b'{"a":1}', {"reason": "invalid_content"}),
    "a patch that fails": (b'[{"op":"remove","path":"/none"}]', {"reason": "invalid_content"}),
    "too deep": (
        b'[{"op":"add","path":"/x","value":' + b"[" * 128 + b"]" * 128 + b"}]",
        {"reason": "limit", "limit": "json_depth", "value": 128},
    ),
    "far too deep": (b"[" * 100_000, {"reason": "limit", "limit": "json_depth", "value": 128}),
    "too many operations": (
        b"[" + b",".join([b'{"op":"remove","path":"/n"}'] * 1_001) + b"]",
        {"reason": "limit", "limit": "patch_ops", "value": 1_000},
    ),
    "too large a document": (
        b'[{"op":"add","path":"/x","value":"' + b"x" * 4_200_000 + b'"}]',
        {"reason": "limit", "limit": "json_bytes", "value": 4_194_304},
    ),
    "half a surrogate pair": (rb'[{"op":"add","path":"/x","value":"\ud800"}]', {"reason": "invalid_content"}),
}


@requirement("SR-13.1")
@requirement("SR-12.3")
@requirement("SR-2.3.b")
@pytest.mark.parametrize(("body", "data"), REFUSED_UPLOADS.values(), ids=REFUSED_UPLOADS)
async def test_a_patch_that_is_refused_says_why_and_changes_nothing(
    wire: Document, body: bytes, data: dict[str, object]
) -> None:
    before = await wire.cursor()

    answer = await wire.http.post(wire.url.replace("/mcp", f"/upload?uri={wire.uri}"), content=body)

    assert answer.status_code in (400, 413)
    assert answer.json()["error"]["data"] == data
    assert await wire.cursor() == before


@requirement("SR-10.7")
async def test_the_server_says_that_it_has_documents(wire: Document) -> None:
    declared = (await wire.ask("server/discover")).result["capabilities"]["extensions"][EXTENSION]

    assert set(declared["kinds"]) == {"text", "blob", "json"}
