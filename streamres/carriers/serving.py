"""The server half that carriers share: JSON-RPC by POST, each answered by JSON or by a stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router

from streamres.protocol import words

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

PATH: Final = "/mcp"

SERVER_INFO: Final[Mapping[str, Any]] = {words.SERVER_INFO_META: {"name": "compare", "version": "0.1.0"}}
_UNKNOWN_METHOD: Final = -32601


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    id: int | str
    method: str
    params: Mapping[str, Any]

    @property
    def meta(self) -> Mapping[str, Any]:
        """Its `_meta`."""
        return self.params.get("_meta") or {}

    def result(self, **members: Any) -> dict[str, Any]:  # noqa: ANN401
        """Gives the message that answers it."""
        result = {"resultType": "complete", **members, "_meta": SERVER_INFO}
        return {"jsonrpc": "2.0", "id": self.id, "result": result}

    def error(self, code: int, message: str, **data: Any) -> dict[str, Any]:  # noqa: ANN401
        """Gives the message that refuses it."""
        error = {"code": code, "message": message, **({"data": data} if data else {})}
        return {"jsonrpc": "2.0", "id": self.id, "error": error}

    def of_subscription(self) -> dict[str, Any]:
        """Gives the `_meta` of a notification on the subscription that this request opened."""
        return {words.SUBSCRIPTION_META: self.id}


Message = dict[str, Any]
Answer = Callable[[Asked], Awaitable[Message]]
Stream = Callable[[Asked], AsyncIterator[Message]]


def notification(method: str, **params: Any) -> Message:  # noqa: ANN401
    """Gives a notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def acknowledged(asked: Asked) -> Message:
    """Gives the first message of a subscription: its filter, honoured as it is."""
    honoured = asked.params.get("notifications", {})
    return notification(words.ACKNOWLEDGED, _meta=asked.of_subscription(), notifications=honoured)


@asynccontextmanager
async def serving(
    *, answers: Mapping[str, Answer] | None = None, streams: Mapping[str, Stream] | None = None
) -> AsyncIterator[ASGIApp]:
    """Gives an app that answers some methods by JSON and others by a stream, whose last message is the result."""

    async def endpoint(request: Request) -> Response:
        message = orjson.loads(await request.body())
        asked = Asked(message["id"], message["method"], message.get("params") or {})
        if streams is not None and (stream := streams.get(asked.method)) is not None:
            return StreamingResponse(
                _events(stream(asked)),
                media_type="text/event-stream",
                headers={"cache-control": "no-cache, no-transform"},
            )
        if answers is not None and (answer := answers.get(asked.method)) is not None:
            reply = await answer(asked)
        else:
            reply = asked.error(_UNKNOWN_METHOD, f"no method {asked.method}")
        status = 400 if "error" in reply else 200
        return Response(orjson.dumps(reply), status, media_type="application/json")

    yield Router([Route(PATH, endpoint, methods=["POST"])])


async def _events(messages: AsyncIterator[Message]) -> AsyncIterator[bytes]:
    async for message in messages:
        yield b"data: " + orjson.dumps(message) + b"\n\n"
