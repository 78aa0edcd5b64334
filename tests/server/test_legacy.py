"""Clients of the older era, without the header and `_meta` of the new one: what they get without a session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from requirement import requirement

from .wire import STREAM, VERSION, envelope, headers_for, message

if TYPE_CHECKING:
    from .wire import Wire

OLDER = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


async def ask(wire: Wire, method: str, params: dict[str, Any] | None = None, *, version: str | None = None) -> Any:  # noqa: ANN401
    """Gives the whole answer to a request of the older era; each is at HTTP 200."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 3, "method": method}
    if params is not None:
        body["params"] = params
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    if version is not None:
        headers["mcp-protocol-version"] = version
    response = await wire.post(json.dumps(body).encode(), headers)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("asked", OLDER)
async def test_initialize_takes_each_older_version(wire: Wire, asked: str) -> None:
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}

    result = (await ask(wire, "initialize", params))["result"]

    assert result["protocolVersion"] == asked
    assert result["serverInfo"]["name"] == "tested"


@pytest.mark.parametrize("asked", ["1999-01-01", VERSION, 7, None], ids=repr)
async def test_initialize_answers_an_unknown_version_with_the_newest_older_one(wire: Wire, asked: object) -> None:
    result = (await ask(wire, "initialize", {"protocolVersion": asked}))["result"]

    assert result["protocolVersion"] == OLDER[0]


async def test_ping_is_answered_by_an_empty_result(wire: Wire) -> None:
    # Clients of the TypeScript SDK 1.x read it with a strict schema: any member beside `_meta` is an error there.
    answer = await ask(wire, "ping", version=OLDER[0])

    assert set(answer["result"]) <= {"_meta"}


async def test_an_initialized_notification_is_accepted_without_a_body(wire: Wire) -> None:
    body = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'

    response = await wire.post(body, {"content-type": "application/json", "mcp-protocol-version": OLDER[0]})

    assert (response.status_code, response.content) == (202, b"")


@requirement("SR-10.1")
@pytest.mark.parametrize("version", [None, *OLDER])
async def test_list_and_read_are_plain(wire: Wire, version: str | None) -> None:
    await wire.append("text")

    listed = (await ask(wire, "resources/list", version=version))["result"]["resources"]
    contents = (await ask(wire, "resources/read", {"uri": wire.uri}, version=version))["result"]["contents"]

    assert {"uri": wire.uri, "name": "log", "mimeType": "text/plain", "size": 4} in listed
    assert contents == [{"uri": wire.uri, "mimeType": "text/plain", "text": "text"}]


@requirement("SR-10.5")
async def test_a_delta_through_meta_passes_there_too(wire: Wire) -> None:
    since = await wire.cursor()
    await wire.append("news")

    params = {"uri": wire.uri, "_meta": {STREAM: {"since": since}}}
    result = (await ask(wire, "resources/read", params, version=OLDER[0]))["result"]

    assert result["contents"] == []
    assert result["_meta"][STREAM]["delta"]["text"] == "news"


@pytest.mark.parametrize(
    ("method", "params", "code", "data"),
    [
        ("tools/list", {}, -32601, None),
        ("server/discover", {}, -32601, None),
        ("subscriptions/listen", {"notifications": {}}, -32601, None),
        ("resources/subscribe", {"uri": "build://7/log"}, -32600, None),
        ("resources/unsubscribe", {"uri": "build://7/log"}, -32600, None),
        ("resources/read", {"uri": "build://nowhere"}, -32602, {"uri": "build://nowhere"}),
        ("resources/read", {}, -32602, {"reason": "invalid_params"}),
    ],
)
async def test_a_refusal_is_at_http_200(
    wire: Wire, method: str, params: dict[str, Any], code: int, data: object
) -> None:
    answer = await ask(wire, method, params, version=OLDER[0])

    assert (answer["error"]["code"], answer["error"].get("data"), answer["id"]) == (code, data, 3)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "OPTIONS"])
async def test_only_post_is_served(wire: Wire, method: str) -> None:
    response = await wire.http.request(method, wire.url, headers={"accept": "text/event-stream"})

    assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def test_an_event_id_is_ignored(wire: Wire) -> None:
    headers = {"content-type": "application/json", "last-event-id": "7"}

    response = await wire.post(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', headers)

    assert response.status_code == 200
    assert "mcp-session-id" not in response.headers


async def test_the_new_era_ignores_a_session_id(wire: Wire) -> None:
    params = {"uri": wire.uri, "_meta": envelope()}
    headers = {**headers_for("resources/read", params), "mcp-session-id": "7"}

    response = await wire.post(message("resources/read", params), headers)

    assert response.status_code == 200
    assert "mcp-session-id" not in response.headers
