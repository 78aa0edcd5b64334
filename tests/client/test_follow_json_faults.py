"""A server that lies about a document: what is none, or does not apply, is said, and never shown."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from requirement import requirement

from streamres import Client
from streamres.errors import DeltaError, ProtocolError

from .lying import acknowledged, lying, result, sse, updated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from streamres import Update

URI = "agent://7/state"

SNAPSHOT = {
    "resultType": "complete",
    "contents": [{"uri": URI, "mimeType": "application/json", "text": "{}"}],
    "cursor": "c1",
    "revision": 1,
    "state": "open",
    "kind": "json",
}


def framed(patch: bytes) -> bytes:
    """A notification whose patch stands there as it is."""
    delta = {"from": "c1", "to": "c2", "kind": "json", "patch": "PATCH"}
    message = updated(uri=URI, cursor="c2", revision=2, state="open", delta=delta)
    return b"data: " + json.dumps(message).encode().replace(b'"PATCH"', patch) + b"\n\n"


@asynccontextmanager
async def followed_by(patch: bytes) -> AsyncIterator[tuple[Update, AsyncIterator[Update]]]:
    """The document `{}` as it was handed over, and the updates after it, of which the first has the patch."""

    def answer(request: dict[str, Any]) -> bytes:
        if request["method"] == "resources/read":
            return result(request, SNAPSHOT)
        return sse(acknowledged(request), framed(patch), whole=False)

    async with lying(answer) as url, Client(url) as client:
        updates = client.follow(URI)
        with anyio.fail_after(10):
            first = await anext(updates)
            assert first.value == {}
            yield first, updates


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
    async with followed_by(patch) as (_, updates):
        with pytest.raises(ProtocolError):
            await anext(updates)


UNSOUND: dict[str, bytes] = {
    "what is not there is removed": b'[{"op":"remove","path":"/none"}]',
    "a test that fails": b'[{"op":"add","path":"/a","value":1},{"op":"test","path":"/a","value":true}]',
}


@requirement("SR-2.3.b")
@pytest.mark.parametrize("patch", UNSOUND.values(), ids=UNSOUND)
async def test_a_patch_that_does_not_apply_ends_in_an_error_and_not_in_another_document(patch: bytes) -> None:
    async with followed_by(patch) as (first, updates):
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
