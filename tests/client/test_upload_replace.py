"""PUT over HTTP: all content replaced, or a resource made with it; a refusal changes nothing (section 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from requirement import requirement
from server.wire import NOWHERE

from .uploading import upload

if TYPE_CHECKING:
    from server.wire import Wire


@requirement("SR-2.4")
async def test_put_replaces_all_content_in_an_epoch_of_its_own(wire: Wire) -> None:
    _, before = await upload(wire, b"old")

    status, after = await upload(wire, "é\n".encode(), method="PUT")

    assert (status, after["revision"], after["state"]) == (200, 0, "open")
    reset = await wire.read("fields", since=before["cursor"])
    assert (reset.text, reset.result["reset"], reset.result["cursor"]) == ("é\n", "epoch", after["cursor"])


@requirement("SR-2.4")
@pytest.mark.parametrize(("kind", "content"), [("text", b"new"), ("blob", b"\xff"), ("json", b'{"a": 1}')])
async def test_put_makes_what_is_not_there(wire: Wire, kind: str, content: bytes) -> None:
    status, answer = await upload(wire, content, NOWHERE, method="PUT", kind=kind)

    assert (status, answer["revision"], answer["state"]) == (200, 0, "open")
    (item,) = (await wire.read(None, NOWHERE)).result["contents"]
    assert item.get("text", item.get("blob")) == {"text": "new", "blob": "/w==", "json": '{"a":1}'}[kind]


@requirement("SR-9.3")
@requirement("SR-13.1")
@pytest.mark.parametrize(
    ("content", "query", "reason"),
    [
        (b"x", {"seal": "complete"}, "invalid_params"),
        (b"x", {"producer": "p", "epoch": 0, "seq": 0}, "invalid_params"),
        (b"x", {"kind": "json"}, "invalid_content"),
        (b"x" * 101, {}, "limit"),
    ],
)
async def test_a_put_that_is_refused_changes_nothing(
    wire: Wire, content: bytes, query: dict[str, Any], reason: str
) -> None:
    _, before = await upload(wire, b"old")

    status, answer = await upload(wire, content, method="PUT", **query)

    assert status in (400, 413)
    assert answer["error"]["data"]["reason"] == reason
    assert await wire.cursor() == before["cursor"]


@requirement("SR-9.3")
async def test_a_put_after_the_seal_is_refused(wire: Wire) -> None:
    await upload(wire, b"all", seal="complete")

    status, answer = await upload(wire, b"other", method="PUT")

    assert (status, answer["error"]["data"]["reason"]) == (409, "sealed")
    assert (await wire.read(None)).text == "all"
