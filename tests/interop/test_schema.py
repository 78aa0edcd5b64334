"""Every frame of a scripted scene is one that the models of MCP 2026-07-28 take, whatever the binding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mcp_types import _v2026_07_28 as wire_models
from mcp_types.methods import SERVER_NOTIFICATIONS, validate_server_result
from requirement import requirement
from server.wire import NOWHERE, OTHER, URI, VERSION, Wire, envelope, headers_for, message, serving

if TYPE_CHECKING:
    from server.wire import Binding

BINDINGS = [None, "fields", "meta"]


def check_notification(frame: dict[str, Any]) -> None:
    SERVER_NOTIFICATIONS[(frame["method"], VERSION)].model_validate(frame)


def check_result(method: str, frame: dict[str, Any]) -> None:
    wire_models.JSONRPCResultResponse.model_validate(frame)
    validate_server_result(method, VERSION, frame["result"])


@requirement("SR-10.1")
@pytest.mark.parametrize("binding", BINDINGS)
async def test_every_answer_of_the_scene_is_of_the_schema(binding: Binding | None) -> None:
    async with serving() as wire:
        since = await wire.cursor()
        await wire.append("é\n", "x" * 100_000)
        reads: list[dict[str, Any]] = [{}]
        if binding is not None:
            reads += [{"since": since}, {"since": since, "maxBytes": 5}, {"tailBytes": 5}, {"since": "", "x": 1}]

        for method in ("server/discover", "resources/list", "resources/templates/list"):
            check_result(method, (await wire.ask(method, declared=binding)).message)
        for seal in (False, True):
            if seal:
                await wire.seal("aborted")
            for members in reads:
                answer = await wire.read(binding, **members)
                if "error" in answer.message:
                    wire_models.JSONRPCErrorResponse.model_validate(answer.message)
                else:
                    check_result("resources/read", answer.message)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_every_frame_of_a_subscription_is_of_the_schema(binding: Binding | None) -> None:
    async with serving() as wire:
        since = await wire.cursor()
        await wire.append("before")
        streams = None if binding is None else {URI: {"since": since, "deliver": "delta"}, NOWHERE: {}}
        core = {"resourceSubscriptions": [URI], "resourcesListChanged": True}
        async with wire.listen(binding, streams, core=core, request_id="listen-1") as frames:
            seen = [await frames.take()]
            await wire.append("after")
            seen.append(await frames.take())
            await wire.server.store.replace(URI, b"other")
            await wire.server.create(OTHER)
            await wire.seal()
            wire.server.close()
            *more, end = await frames.rest()

    for frame in [*seen, *more]:
        check_notification(frame)
    assert {frame["method"] for frame in [*seen, *more]} == {
        "notifications/subscriptions/acknowledged",
        "notifications/resources/updated",
        "notifications/resources/list_changed",
    }
    check_result("subscriptions/listen", end)


async def refusal(wire: Wire, params: dict[str, Any], **headers: str) -> dict[str, Any]:
    sent = {**headers_for("resources/read", params), **headers}
    response = await wire.post(message("resources/read", params), sent)
    assert response.status_code == 400
    return response.json()


async def test_every_refusal_is_of_the_schema() -> None:
    version_key = "io.modelcontextprotocol/protocolVersion"
    params = {"uri": URI, "_meta": envelope()}
    other_version = {"uri": URI, "_meta": {**envelope(), version_key: "2099-01-01"}}
    async with serving() as wire:
        mismatch = await refusal(wire, params, **{"mcp-name": NOWHERE})
        unsupported = await refusal(wire, other_version, **{"mcp-protocol-version": "2099-01-01"})
        not_found = await refusal(wire, {**params, "uri": NOWHERE})
        unknown = (await wire.ask("tools/list")).message
        not_json = (await wire.post(b"{", headers_for("x", {}))).json()
        foreign = (await wire.post(b"{}", {**headers_for("x", {}), "origin": "https://evil.example"})).json()

    wire_models.HeaderMismatchError.model_validate(mismatch)
    wire_models.UnsupportedProtocolVersionError.model_validate(unsupported)
    wire_models.InvalidParamsError.model_validate(not_found["error"])
    wire_models.MethodNotFoundError.model_validate(unknown["error"])
    wire_models.ParseError.model_validate(not_json["error"])
    wire_models.InvalidRequestError.model_validate(foreign["error"])
    for frame in (mismatch, unsupported, not_found, unknown, not_json, foreign):
        wire_models.JSONRPCErrorResponse.model_validate(frame)
