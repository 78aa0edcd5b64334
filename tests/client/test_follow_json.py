"""`follow` of a document through a network that cuts: at each step the very document that the producer had."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from requirement import requirement

from streamres import Client, Limits, Server
from streamres.client.push import Producer
from streamres.errors import DeltaError, LimitExceeded, ProtocolError, RpcError
from streamres.model.json_value import encode_json

from .lying import acknowledged, lying, result, sse, updated
from .proxy import Cut, cutting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from streamres import Resource, Update

URI = "agent://7/state"
FIRST: dict[str, Any] = {"messages": [{"role": "user", "text": "é"}], "n": 0, "big": 2**70, "float": 1.0}


def patches() -> list[list[dict[str, Any]]]:
    """What an agent does: messages that grow, counters, and now and then all kinds of change."""
    made: list[list[dict[str, Any]]] = []
    for message in range(1, 12):
        made.append([{"op": "add", "path": "/messages/-", "value": {"role": "assistant", "text": ""}}])
        for word in range(8):
            growth = {"op": "append", "path": f"/messages/{message}/text", "value": f" 😀{word}\u2028"}
            made.append([growth, {"op": "replace", "path": "/n", "value": 2**64 + word}])
        made.append([{"op": "copy", "from": "/messages/0", "path": "/first"}, {"op": "remove", "path": "/first"}])
        made.append([{"op": "test", "path": "/float", "value": 1}, {"op": "add", "path": "/float", "value": 2.0}])
        made.append([{"op": "move", "from": "/float", "path": "/x"}, {"op": "add", "path": "/float", "value": 1}])
    return made


class Producing:
    """A producer that knows what its document was at each revision, by its own reckoning of the JSON."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.documents: dict[int, bytes] = {}
        self._left = iter(patches())

    async def look(self) -> None:
        """Notes the document as the store has it for a plain reader."""
        step = (await self.resource._store.read(URI)).step
        self.documents[self.resource.revision] = b"".join(step.slices())  # type: ignore[union-attr]

    async def go_on(self) -> None:
        patch = next(self._left, None)
        if patch is not None:
            await self.resource.patch(patch)
        elif self.resource.state == "open":
            await self.resource.seal()
        await self.look()


async def followed(producing: Producing, updates: AsyncIterator[Update]) -> list[Update]:
    """Makes one more patch whenever the reader has been handed something, and compares each document."""
    await producing.look()
    seen: list[Update] = []
    async for update in updates:
        assert encode_json(update.value) == producing.documents[update.revision]
        seen.append(update)
        await producing.go_on()
    return seen


CUTS = {
    "at every part of an answer": [Cut(more=more) for more in range(0, 1_100, 101)],
    "inside a patch": [Cut(b'"patch":[', more) for more in range(0, 120, 12)],
    "before a frame": [
        *(Cut(b"text/event-stream", more) for more in range(0, 80, 20)),
        *(Cut(b"acknowledged", more) for more in range(0, 80, 20)),
        *(Cut(b"resources/updated", more) for more in range(200, 340, 48)),
    ],
}


@requirement("C1")
@requirement("C3")
@requirement("SR-2.3")
@requirement("SR-3.2")
@requirement("SR-3.4")
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
async def test_each_step_is_the_producers_document_and_none_comes_twice(cuts: list[Cut]) -> None:
    server = Server("documents")
    producing = Producing(await server.create(URI, kind="json", value=FIRST))
    spaced = list(chain.from_iterable((cut, Cut(more=5_000)) for cut in cuts))
    async with server.serve(port=0) as url, cutting(url, spaced) as proxy, Client(proxy.url) as client:
        with anyio.fail_after(30):
            seen = await followed(producing, client.follow(URI, page_bytes=300))

    assert proxy.cuts >= 10
    assert [update.reset for update in seen] == [None] * len(seen), "each cut was mended by a patch"
    assert [update.since for update in seen[1:]] == [update.cursor for update in seen[:-1]]
    assert [update.sealed for update in seen] == [False] * (len(seen) - 1) + [True]
    assert seen[-1].digest is None, "a document with 2**70 in it is outside I-JSON"


@requirement("SR-3.4")
@requirement("C3")
async def test_a_seal_proves_what_was_put_together_over_cuts() -> None:
    server = Server("documents")
    resource = await server.create(URI, kind="json", value={"items": []})
    cuts = [cut for more in range(0, 20, 2) for cut in (Cut(b'"patch":[', more), Cut(more=5_000))]
    seen: list[Update] = []
    async with server.serve(port=0) as url, cutting(url, cuts) as proxy, Client(proxy.url) as client:
        with anyio.fail_after(30):
            async for update in client.follow(URI):
                seen.append(update)
                if len(seen) < 60:
                    await resource.patch([{"op": "add", "path": "/items/0", "value": len(seen)}])
                elif resource.state == "open":
                    await resource.seal()

    assert (seen[-1].digest or "").startswith("sha-256=:")
    assert len(seen[-1].value["items"]) == 59
    assert proxy.cuts >= 8


@requirement("SR-5.10")
@requirement("SR-6.3.c")
async def test_what_is_only_announced_is_read_and_what_is_replaced_is_reset() -> None:
    server = Server("documents", limits=Limits(notification_bytes=100))
    resource = await server.create(URI, kind="json", value={})
    seen: list[tuple[str | None, Any]] = []
    steps = [
        lambda: resource.patch([{"op": "add", "path": "/large", "value": "x" * 500}]),
        lambda: resource.replace([1]),
        lambda: resource.set([1, 2]),
        lambda: resource.patch([{"op": "replace", "path": "", "value": None}]),
        lambda: resource.set({"null": None}),
        lambda: resource.seal("aborted"),
    ]
    async with server.serve(port=0) as url, Client(url) as client:
        with anyio.fail_after(10):
            async for update in client.follow(URI):
                seen.append((update.reset, json.loads(encode_json(update.value))))
                if steps:
                    await steps.pop(0)()

    assert seen == [
        (None, {}),
        (None, {"large": "x" * 500}),
        ("epoch", [1]),
        (None, [1, 2]),
        (None, None),
        (None, {"null": None}),
        (None, {"null": None}),
    ]


async def test_a_reader_with_a_cursor_is_handed_the_patches_without_a_document() -> None:
    server = Server("documents")
    resource = await server.create(URI, kind="json", value={"a": 1})
    cursor = resource.cursor
    await resource.patch([{"op": "add", "path": "/b", "value": 2}])
    await resource.seal()
    async with server.serve(port=0) as url, Client(url) as client:
        seen = [update async for update in client.follow(URI, cursor)]

    assert [(update.patch, update.value) for update in seen] == [([{"op": "add", "path": "/b", "value": 2}], None)]
    assert seen[0].sealed


@requirement("SR-9.1")
@requirement("SR-2.3")
async def test_a_producer_elsewhere_makes_each_patch_once_over_cuts() -> None:
    server = Server("documents")
    cuts = [Cut(more=more) for more in range(0, 600, 100)]
    async with server.serve(port=0, upload=True) as url, cutting(url, cuts) as proxy:
        async with Producer(proxy.url, URI, kind="json") as producer:
            with anyio.fail_after(30):
                await producer.patch([{"op": "add", "path": "", "value": []}])
                for number in range(30):
                    await producer.patch([{"op": "add", "path": "/-", "value": number}])
                await producer.append(b'[{"op":"add","path":"/-","value":30.0}]')
                await producer.seal()
        async with Client(url) as client:
            update = await client.read(URI)

    assert proxy.cuts >= 4
    assert encode_json(update.value) == encode_json([*range(30), 30.0])
    assert (update.state, update.revision) == ("complete", 33)


async def test_a_producer_is_told_of_a_patch_that_is_refused_and_goes_on() -> None:
    server = Server("documents")
    async with server.serve(port=0, upload=True) as url, Client(url) as client:
        async with Producer(url, URI, kind="json") as producer:
            await producer.patch([{"op": "add", "path": "", "value": {}}])
            with pytest.raises(RpcError) as caught:
                await producer.patch([{"op": "remove", "path": "/none"}])
            with pytest.raises(DeltaError):
                await producer.patch([{"op": "add", "path": "/a", "value": float("nan")}])
            await producer.patch([{"op": "add", "path": "/a", "value": 1}])

        assert caught.value.data == {"reason": "invalid_content"}
        assert (await client.read(URI)).value == {"a": 1}


SNAPSHOT = {
    "resultType": "complete",
    "contents": [{"uri": URI, "mimeType": "application/json", "text": "{}"}],
    "cursor": "c1",
    "revision": 1,
    "state": "open",
    "kind": "json",
}


def with_patch(patch: bytes) -> dict[str, Any]:
    """A notification whose patch stands there as it is."""
    delta = {"from": "c1", "to": "c2", "kind": "json", "patch": "PATCH"}
    return {**updated(uri=URI, cursor="c2", revision=2, state="open", delta=delta), "raw": patch.decode()}


def framed(patch: bytes) -> bytes:
    message = with_patch(patch)
    raw = message.pop("raw")
    return b"data: " + json.dumps(message).replace('"PATCH"', raw).encode() + b"\n\n"


LIES: dict[str, bytes] = {
    "not a number": b'[{"op":"add","path":"/a","value":NaN}]',
    "too large a number": b'[{"op":"add","path":"/a","value":1e999}]',
    "a name twice": b'[{"op":"add","path":"/a","path":"/b","value":1}]',
    "half a surrogate pair": rb'[{"op":"add","path":"/a","value":"\ud800"}]',
    "a hundred thousand brackets": b"[" * 100_000 + b"]" * 100_000,
    "an object": b"{}",
    "a string": b'"[]"',
    "an unknown operation": b'[{"op":"merge","path":"/a","value":1}]',
    "no path": b'[{"op":"remove"}]',
    "a path that is no pointer": b'[{"op":"remove","path":"a"}]',
    "a path without end": b'[{"op":"add","path":"' + b"/" * 100_000 + b'","value":1}]',
}


@requirement("P2")
@requirement("SR-12.3")
@pytest.mark.parametrize("patch", LIES.values(), ids=LIES)
async def test_a_patch_that_is_none_is_said_and_never_applied(patch: bytes) -> None:
    def answer(request: dict[str, Any]) -> bytes:
        if request["method"] == "resources/read":
            return result(request, SNAPSHOT)
        return sse(acknowledged(request), framed(patch), whole=False)

    async with lying(answer) as url, Client(url) as client:
        updates = client.follow(URI)
        with anyio.fail_after(10):
            assert (await anext(updates)).value == {}
            with pytest.raises(ProtocolError):
                await anext(updates)


UNSOUND: dict[str, bytes] = {
    "what is not there is removed": b'[{"op":"remove","path":"/none"}]',
    "a test that fails": b'[{"op":"add","path":"/a","value":1},{"op":"test","path":"/a","value":true}]',
}


@requirement("SR-2.3.b")
@pytest.mark.parametrize("patch", UNSOUND.values(), ids=UNSOUND)
async def test_a_patch_that_does_not_apply_ends_in_an_error_and_not_in_another_document(patch: bytes) -> None:
    def answer(request: dict[str, Any]) -> bytes:
        if request["method"] == "resources/read":
            return result(request, SNAPSHOT)
        return sse(acknowledged(request), framed(patch), whole=False)

    async with lying(answer) as url, Client(url) as client:
        updates = client.follow(URI)
        with anyio.fail_after(10):
            first = await anext(updates)
            with pytest.raises(DeltaError):
                await anext(updates)

    assert first.value == {}


@requirement("P2")
@pytest.mark.parametrize(
    "text",
    ["", "{", "NaN", '{"a":1,"a":2}', '"\\ud800"', "[" * 100_000, "[" * 300 + "]" * 300],
    ids=["nothing", "cut", "not a number", "a name twice", "half a pair", "brackets", "too deep"],
)
async def test_a_document_that_is_none_is_said(text: str) -> None:
    answered: Callable[[dict[str, Any]], bytes] = lambda request: result(  # noqa: E731
        request, {**SNAPSHOT, "contents": [{"uri": URI, "text": text}]}
    )
    async with lying(answered) as url, Client(url) as client:
        with pytest.raises(ProtocolError):
            await client.read(URI)


@requirement("SR-12.3")
async def test_what_a_program_may_not_do_to_a_document_is_refused_in_process_too() -> None:
    server = Server("documents", limits=Limits(json_bytes=50))
    resource = await server.create(URI, kind="json")
    log = await server.create("build://7/log")

    with pytest.raises(DeltaError):
        await resource.append("text")
    with pytest.raises(DeltaError):
        await log.patch([])
    with pytest.raises(DeltaError):
        await resource.set({1: "a name that is no string"})
    with pytest.raises(DeltaError):
        await resource.replace([float("inf")])
    with pytest.raises(LimitExceeded):
        await resource.set("x" * 50)
    with pytest.raises(DeltaError):
        await server.create("build://8/log", value={"a": 1})
    with pytest.raises(LimitExceeded):
        await server.create("agent://8/state", kind="json", value="x" * 50)

    assert (resource.revision, resource.state) == (0, "open")
    assert [entry.description.uri for entry in await server.store.list(limit=9)] == [URI, "build://7/log"]
