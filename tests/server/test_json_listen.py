"""Patches that are pushed: each from where the one before ended, in bounds, or announced by the cursor alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from requirement import requirement

from streamres import Limits

from .documents import COUNTS, GROWS, asking, document_on
from .frames import STREAM
from .wire import acknowledged, moved, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from .documents import Document
    from .wire import Binding, Wire


@pytest.fixture(scope="module")
async def narrow() -> AsyncIterator[Wire]:
    """Two hundred bytes of patch in one notification."""
    async with serving(Limits(notification_bytes=200)) as wire:
        yield wire


@pytest.fixture
async def tight(narrow: Wire) -> Document:
    return await document_on(narrow)


def listening(document: Document, binding: Binding, since: str, *patch_ops: str) -> Any:  # noqa: ANN401
    streams = {document.uri: {"since": since, "deliver": "delta"}}
    params: dict[str, Any] = {"notifications": {}, "_meta": asking(*patch_ops)}
    if binding == "meta":
        params["_meta"][STREAM] = {"resourceStreams": streams}
    else:
        params["notifications"] = {"resourceStreams": streams}
    return document.raw_listen(params)


@requirement("SR-6.3")
@requirement("SR-6.5")
@requirement("SR-7.1")
@pytest.mark.parametrize("patch_ops", [("append",), ()], ids=["append", "RFC 6902 alone"])
async def test_a_subscriber_is_sent_each_patch_from_where_it_was(
    document: Document, binding: Binding, patch_ops: tuple[str, ...]
) -> None:
    start = await document.cursor()
    await document.patch(COUNTS)
    async with listening(document, binding, start, *patch_ops) as frames:
        stand = acknowledged(binding, await frames.take())[document.uri]
        caught_up = moved(binding, await frames.take())
        await document.patch(GROWS)
        grown = moved(binding, await frames.take())
        await document.resource.patch([{"op": "remove", "path": "/big"}, {**COUNTS, "value": 1}])
        await frames.take()
        await document.resource.seal()
        sealed = moved(binding, await frames.take())
        (end,) = await frames.rest()

    assert stand["cursor"] == caught_up["cursor"]
    assert caught_up["delta"] == {"from": start, "to": stand["cursor"], "kind": "json", "patch": [COUNTS]}
    growth = GROWS if patch_ops else {"op": "replace", "path": GROWS["path"], "value": "Hi there"}
    assert (grown["delta"]["from"], grown["delta"]["patch"]) == (stand["cursor"], [growth])
    assert (sealed["state"], sealed["delta"]["patch"]) == ("complete", [])
    assert sealed["digest"].startswith("sha-256=:")
    assert "result" in end


@requirement("SR-6.1")
async def test_a_subscriber_by_cursor_is_sent_no_patch(document: Document, binding: Binding) -> None:
    async with document.listen(binding, {document.uri: {}}) as frames:
        await frames.take()
        await document.patch(GROWS)
        members = moved(binding, await frames.take())

    assert set(members) == {"cursor", "revision", "state"}


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
