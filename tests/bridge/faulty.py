"""A real HTTP server that speaks SEP-2998 as badly as a test tells it to."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from streamres import Limits
from streamres.transport import bind, origin_of, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    Script = Callable[[dict[str, Any]], AsyncIterator[dict[str, Any]]]
    """What one call is answered with: `partial` or `progress` of notifications, then `result` or `error`."""

VERSION = "2026-07-28"


class Cut(Exception):
    """Ends the connection in the middle of the answer."""


def text(seq: int, said: str, **members: object) -> dict[str, Any]:
    """A partial with one text block."""
    return {"partial": {"seq": seq, "content": [{"type": "text", "text": said}], **members}}


def structured(seq: int, value: object) -> dict[str, Any]:
    return {"partial": {"seq": seq, "content": [], "structuredContent": value}}


def blocks(seq: int, *content: dict[str, Any]) -> dict[str, Any]:
    return {"partial": {"seq": seq, "content": list(content)}}


def result(*texts: str, **members: object) -> dict[str, Any]:
    """The final result with a text block each."""
    content = [{"type": "text", "text": said} for said in texts]
    return {"result": {"resultType": "complete", "content": content, **members}}


@dataclass
class Faulty:
    """The server: its one tool is `work`, and each call is answered by `script`."""

    script: Script
    asked: list[dict[str, Any]] = field(default_factory=list)
    """The params of each call."""
    gone: anyio.Event = field(default_factory=anyio.Event)
    """A caller left before its answer was whole."""

    async def answer(self, request: Request) -> Response:
        message = json.loads(await request.body())
        match message["method"]:
            case "server/discover":
                return _answer(message, {"supportedVersions": [VERSION], "capabilities": {"tools": {}}})
            case "tools/list":
                tool = {"name": "work", "inputSchema": {"type": "object"}}
                return _answer(message, {"tools": [tool], "ttlMs": 0, "cacheScope": "private"})
            case "tools/call":
                self.asked.append(message["params"])
                return StreamingResponse(self._events(message), media_type="text/event-stream")
            case _:
                error = {"code": -32601, "message": "unknown method"}
                return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": error}, 404)

    async def _events(self, message: dict[str, Any]) -> AsyncIterator[bytes]:
        meta = message["params"]["_meta"]
        try:
            async for said in self.script(message["params"]):
                match said:
                    case {"partial": partial}:
                        params = {"partialResultToken": meta["partialResultToken"], **partial}
                        yield _event(method="notifications/tools/partial_result", params=params)
                    case {"progress": progress}:
                        params = {"progressToken": meta["progressToken"], **progress}
                        yield _event(method="notifications/progress", params=params)
                    case answer:
                        yield _event(id=message["id"], **answer)
        except (anyio.get_cancelled_exc_class(), GeneratorExit):
            self.gone.set()
            raise


def _event(**members: object) -> bytes:
    return b"data: " + json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n\n"


def _answer(message: dict[str, Any], members: dict[str, Any]) -> JSONResponse:
    result = {"resultType": "complete", **members}
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result})


@asynccontextmanager
async def faulty(script: Script) -> AsyncIterator[tuple[Faulty, str]]:
    """Serves, and gives the server and its URL."""
    server = Faulty(script)
    app = Starlette(routes=[Route("/mcp", server.answer, methods=["POST"])])
    sock = bind("127.0.0.1", 0)
    url = f"{origin_of(sock)}/mcp"
    async with serving(app, sock, close=lambda: None, limits=Limits(grace_s=0)):
        yield server, url
