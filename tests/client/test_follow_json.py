"""`follow` of a document through a network that cuts: at each step the very document that the producer had."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from requirement import requirement

from streamres import Client, Limits, Server
from streamres.model.json_value import encode_json

from .proxy import Cut, cutting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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
