"""Where the members of the extension stand: nowhere, in the open, or in `_meta` (section 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from .wire import EXTENSION, SERVER_INFO, STREAM, SUBSCRIPTION_ID, Wire, envelope, serving

if TYPE_CHECKING:
    from .wire import Binding

PLAIN_RESULT = {"resultType", "ttlMs", "cacheScope", "_meta"}


@requirement("SR-10.1")
async def test_a_plain_read_has_the_members_of_the_core_and_no_other(wire: Wire) -> None:
    await wire.append("text")

    answer = await wire.read(None)

    assert set(answer.message) == {"jsonrpc", "id", "result"}
    assert set(answer.result) == {*PLAIN_RESULT, "contents"}
    assert set(answer.result["_meta"]) == {SERVER_INFO}
    assert answer.result["contents"] == [{"uri": wire.uri, "mimeType": "text/plain", "text": "text"}]


@requirement("SR-10.1")
async def test_a_plain_read_of_a_sealed_resource_has_no_other_member(wire: Wire) -> None:
    await wire.seal(text="text")

    answer = await wire.read(None)

    assert set(answer.result) == {*PLAIN_RESULT, "contents"}
    assert set(answer.result["_meta"]) == {SERVER_INFO}


@requirement("SR-10.1")
async def test_plain_lists_have_the_members_of_the_core_and_no_other() -> None:
    async with serving() as wire:
        listed = (await wire.ask("resources/list")).result
        templates = (await wire.ask("resources/templates/list")).result

    assert set(listed) == {*PLAIN_RESULT, "resources"}
    assert [set(entry) for entry in listed["resources"]] == [{"uri", "name", "mimeType", "size"}]
    assert set(templates) == {*PLAIN_RESULT, "resourceTemplates"}
    assert set(listed["_meta"]) == set(templates["_meta"]) == {SERVER_INFO}


@requirement("SR-10.1")
async def test_a_plain_subscription_has_the_members_of_the_core_and_no_other() -> None:
    async with serving() as wire:
        core = {"resourceSubscriptions": [wire.uri], "resourcesListChanged": True}
        async with wire.listen(None, core=core) as frames:
            ack = await frames.take()
            await wire.append("a")
            update = await frames.take()
            await wire.server.create("build://new/log")
            changed = await frames.take()
            wire.server.close()
            (end,) = await frames.rest()

    assert ack["params"] == {"_meta": {SUBSCRIPTION_ID: 1}, "notifications": core}
    assert update["params"] == {"_meta": {SUBSCRIPTION_ID: 1}, "uri": wire.uri}
    assert changed["params"] == {"_meta": {SUBSCRIPTION_ID: 1}}
    assert set(end["result"]) == {"resultType", "_meta"}
    assert set(end["result"]["_meta"]) == {SERVER_INFO, SUBSCRIPTION_ID}
    assert all(set(frame) == {"jsonrpc", "method", "params"} for frame in (ack, update, changed))


@requirement("SR-10.2")
@requirement("SR-10.3")
async def test_a_declared_binding_is_the_place_in_the_answer(wire: Wire, binding: Binding) -> None:
    answer = await wire.read(binding)

    members = {"cursor", "revision", "state"}
    if binding == "fields":
        assert set(answer.result) == {*PLAIN_RESULT, "contents", *members}
        assert STREAM not in answer.result["_meta"]
    else:
        assert set(answer.result) == {*PLAIN_RESULT, "contents"}
        assert set(answer.result["_meta"][STREAM]) == members


@requirement("SR-10.2")
async def test_declared_without_a_setting_the_binding_is_fields(wire: Wire) -> None:
    meta = envelope()
    meta["io.modelcontextprotocol/clientCapabilities"] = {"extensions": {EXTENSION: {}}}

    answer = await wire.ask("resources/read", {"uri": wire.uri, "_meta": meta})

    assert "cursor" in answer.result


@requirement("SR-10.5")
async def test_a_member_that_is_used_asks_for_its_place_undeclared(wire: Wire, binding: Binding) -> None:
    since = await wire.cursor()

    answer = await wire.read(binding, since=since)

    assert set(answer.stream(binding)) == {"cursor", "revision", "state", "delta"}


@requirement("SR-10.5")
async def test_the_place_that_is_used_wins_over_the_one_declared(wire: Wire, binding: Binding) -> None:
    since = await wire.cursor()
    declared: Binding = "meta" if binding == "fields" else "fields"

    answer = await wire.read(binding, declared=declared, since=since)

    assert "delta" in answer.stream(binding)


@requirement("SR-10.5")
async def test_an_empty_object_in_meta_has_asked_for_that_place(wire: Wire) -> None:
    answer = await wire.ask("resources/read", {"uri": wire.uri, "_meta": {STREAM: {}}})

    assert set(answer.result["_meta"][STREAM]) == {"cursor", "revision", "state"}


MALFORMED: dict[str, object] = {
    "an unknown binding": {"extensions": {EXTENSION: {"binding": "headers"}}},
    "a binding that is no string": {"extensions": {EXTENSION: {"binding": 7}}},
    "settings that are no object": {"extensions": {EXTENSION: [1]}},
}


@pytest.mark.parametrize("capabilities", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_declaration_is_refused(wire: Wire, capabilities: object) -> None:
    meta = {**envelope(), "io.modelcontextprotocol/clientCapabilities": capabilities}

    answer = await wire.ask("resources/read", {"uri": wire.uri, "_meta": meta})

    assert answer.refusal == (400, -32602, {"reason": "invalid_params"})


@pytest.mark.parametrize("in_meta", [1, "since", [], True], ids=repr)
async def test_members_in_meta_that_are_no_object_are_refused(wire: Wire, in_meta: object) -> None:
    answer = await wire.ask("resources/read", {"uri": wire.uri, "_meta": {STREAM: in_meta}})

    assert answer.refusal == (400, -32602, {"reason": "invalid_params"})


@requirement("P4")
async def test_unknown_members_and_foreign_extensions_are_ignored(wire: Wire) -> None:
    meta = {
        **envelope(),
        "com.example/x": [1],
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"x/y": 1}},
    }
    params = {"uri": wire.uri, "color": "red", "_meta": meta}

    answer = await wire.ask("resources/read", params)

    assert set(answer.result) == {*PLAIN_RESULT, "contents"}
