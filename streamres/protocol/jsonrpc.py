"""JSON-RPC 2.0 as MCP uses it: one request or notification a body, ids that are strings or integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from streamres.errors import InvalidRequest, ParseError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.protocol.envelope import RoutingHeaders

RequestId = str | int


@dataclass(slots=True)
class Request:
    """A request; `params` is empty where it was left out."""

    id: RequestId
    method: str
    params: dict[str, Any]
    headers: RoutingHeaders | None = None
    """The HTTP headers that repeat a part of it; None on a transport without."""

    @property
    def meta(self) -> dict[str, Any]:
        """The request's `_meta`; empty where there is none that is an object."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification; nothing answers it."""

    method: str
    params: dict[str, Any]


def parse(body: bytes) -> Request | Notification:
    """Gives the one message in `body`.

    Raises:
        ParseError: not JSON, or JSON with a number that is not exact here.
        InvalidRequest: a batch, a response, or a message with a member of the wrong type.
    """
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise ParseError(f"the body is not JSON: {exc}") from exc
    if not isinstance(message, dict):
        raise InvalidRequest("the body is not one JSON-RPC request or notification")
    method, params = message.get("method"), message.get("params", {})
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str) or not isinstance(params, dict):
        raise InvalidRequest('a message needs "jsonrpc": "2.0", a "method" and, if any, "params" as an object')
    if "id" not in message:
        return Notification(method, params)
    request_id = message["id"]
    if not isinstance(request_id, str | int) or isinstance(request_id, bool):
        raise InvalidRequest('"id" is a string or an integer')
    return Request(request_id, method, params)


def request_id_of(body: bytes) -> RequestId | None:
    """Gives the id of a message that was refused, where it has one that an answer can carry."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(message, dict) or ("method" not in message and ("result" in message or "error" in message)):
        return None  # a response has the id of another's request: nothing answers it
    request_id = message.get("id")
    return request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None


def result(request_id: RequestId, members: Mapping[str, Any]) -> bytes:
    """Gives the response that carries a result."""
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "result": members})


def error(request_id: RequestId | None, code: int, message: str, data: object) -> bytes:
    """Gives the response that carries an error; without an id where the request's was not understood."""
    body: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    head = {"jsonrpc": "2.0"} if request_id is None else {"jsonrpc": "2.0", "id": request_id}
    return orjson.dumps({**head, "error": body})
