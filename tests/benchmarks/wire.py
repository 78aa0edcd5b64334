"""Requests of MCP 2026-07-28 as bytes, with all the headers and `_meta` that it demands.

Written out here, not taken from streamres: the load is a peer of both servers, and a mistake of ours would show.
"""

from __future__ import annotations

import json
from typing import Any, Final

VERSION: Final = "2026-07-28"
CURSOR_META: Final = "dev.benchmarks/cursor"
"""The key under which the official server's handler is given a cursor."""

SUBSCRIPTION_META: Final = "io.modelcontextprotocol/subscriptionId"


APPENDS: Final = {
    "io.modelcontextprotocol/clientCapabilities": {
        "extensions": {"dev.streamres/streamable-resources": {"patchOps": ["append"]}}
    }
}
"""The `_meta` of a client of streamres that takes the patch operation `append`."""


def read(uri: str, **members: object) -> bytes:
    """Gives a plain `resources/read`; `members` are further params."""
    return _post("resources/read", 1, {"uri": uri, **members}, name=uri)


def read_since(uri: str, cursor: str) -> bytes:
    """Gives the `resources/read` of a delta that streamres knows."""
    return read(uri, since=cursor)


def read_since_in_meta(uri: str, cursor: str) -> bytes:
    """Gives the `resources/read` of a delta that the official server's handler knows."""
    return read(uri, _meta={CURSOR_META: cursor})


def listen(uri: str, request_id: str, deliver: str | None = None, **params: object) -> bytes:
    """Gives a `subscriptions/listen`: the core's of one URI, or with `deliver` that of one stream."""
    if deliver is None:
        return _post("subscriptions/listen", request_id, {"notifications": {"resourceSubscriptions": [uri]}})
    streams = {uri: {"deliver": deliver}}
    return _post("subscriptions/listen", request_id, {"notifications": {"resourceStreams": streams}, **params})


def _post(method: str, request_id: int | str, params: dict[str, Any], *, name: str | None = None) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {**params, "_meta": meta | params.get("_meta", {})}
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    body = json.dumps(message).encode()
    head = [
        "POST /mcp HTTP/1.1",
        "host: 127.0.0.1:8765",
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        f"mcp-protocol-version: {VERSION}",
        f"mcp-method: {method}",
        *([] if name is None else [f"mcp-name: {name}"]),
        f"content-length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body
