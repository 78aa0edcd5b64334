"""A raw HTTP server that answers each request with the bytes that a test tells it to."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from .loopback import listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.abc import SocketStream

    Request = dict[str, Any]
    Answer = Callable[[Request], bytes | None]
    """Gives the raw HTTP response to a JSON-RPC request; None is no answer at all."""

READ = {
    "resultType": "complete",
    "contents": [{"uri": "build://7/log", "mimeType": "text/plain", "text": "text"}],
    "cursor": "c1",
    "revision": 1,
    "state": "open",
}


def raw_json(body: bytes, *, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def result(request: Request, members: object) -> bytes:
    return raw_json(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": members}).encode())


def error(
    request: Request, code: int, message: str = "no", data: object = None, *, status: str = "200 OK"
) -> bytes:
    body = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message, "data": data}}
    return raw_json(json.dumps(body).encode(), status=status)


def sse(*messages: object, whole: bool = True) -> bytes:
    """A stream of events; without `whole` it is cut after them."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    events = [
        message if isinstance(message, bytes) else b"data: " + json.dumps(message).encode() + b"\n\n"
        for message in messages
    ]
    chunks = [b"%x\r\n%b\r\n" % (len(event), event) for event in events]
    return head + b"".join(chunks) + (b"0\r\n\r\n" if whole else b"")


def acknowledged(request: Request) -> dict[str, Any]:
    meta = {"io.modelcontextprotocol/subscriptionId": request["id"]}
    return {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"_meta": meta, "notifications": {}},
    }


def updated(**members: object) -> dict[str, Any]:
    params = {"_meta": {}, "uri": "build://7/log", **members}
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}


@asynccontextmanager
async def lying(answer: Answer) -> AsyncIterator[str]:
    async def handle(stream: SocketStream) -> None:
        async with stream:
            buffer = b""
            while b"\r\n\r\n" not in buffer:
                buffer += await stream.receive()
            head, _, body = buffer.partition(b"\r\n\r\n")
            if not head.startswith(b"POST "):
                await stream.send(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n")
                return
            (length,) = (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            while len(body) < int(length.partition(b":")[2]):
                body += await stream.receive()
            response = answer(json.loads(body))
            if response is None:
                await anyio.sleep_forever()
            else:
                await stream.send(response)

    async with listening(handle) as port:
        yield f"http://127.0.0.1:{port}/mcp"
