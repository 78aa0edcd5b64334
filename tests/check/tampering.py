"""Plants a fault in a right server: an ASGI app that alters what goes through it, one thing at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

STREAM = "dev.streamres/stream"

Json = dict[str, Any]


class Fault:
    """What is altered: nothing, until a method is overridden. One lives as long as one run of the check."""

    content_type = b"application/json"
    """What an answer is called."""

    knows_sessions = True
    """Whether the server is told which session of an older client a request belongs to."""

    async def asked(self, request: Json) -> Json:
        """Gives the request that the server gets."""
        return request

    def answered(self, request: Json, answer: Json) -> Json | bytes:
        """Gives the answer that the reader gets: a message, or bytes as they are."""
        return answer

    def framed(self, request: Json, frame: Json) -> list[Json]:
        """Gives the frames that the reader gets for one of a subscription; the stream ends after a result."""
        return [frame]

    def uploaded(self, query: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
        """Gives the upload that the server gets."""
        return query, body

    def taken(self, query: dict[str, str], status: int, answer: Json) -> tuple[int, Json]:
        """Gives what the producer gets."""
        return status, answer


class Tampered:
    """A right app with whatever fault is planted."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.fault = Fault()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._session(scope, receive, send)
            return
        body = bytearray()
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if scope["path"] == "/upload":
            await self._upload(scope, bytes(body), receive, send)
        else:
            await self._mcp(scope, bytes(body), receive, send)

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The stream of an older client's session, and its end."""
        fault, asked = self.fault, {"method": scope["method"], "params": {}}
        if scope["method"] == "GET":
            await self._app(scope, receive, _Frames(send, lambda frame: fault.framed(asked, frame)))
        else:
            await self._app(scope, receive, send)

    async def _upload(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        fault, query = self.fault, dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
        sent, body = fault.uploaded(dict(query), body)
        scope = {**scope, "query_string": urlencode(sent).encode()}
        whole = _Whole(send, lambda status, answer: fault.taken(query, status, answer))
        await self._app(_sized(scope, body), _replayed(body, receive), whole)

    async def _mcp(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        fault, request = self.fault, json.loads(body)
        if not fault.knows_sessions:
            headers = [(name, value) for name, value in scope["headers"] if name != b"mcp-session-id"]
            scope = {**scope, "headers": headers}
        body = json.dumps(await fault.asked(json.loads(body))).encode()
        answer = _Whole(send, lambda status, answer: (status, fault.answered(request, answer)))
        answer.content_type = fault.content_type
        frames = _Frames(send, lambda frame: fault.framed(request, frame))
        kind: dict[str, Any] = {"send": answer}

        async def either(message: Message) -> None:
            if message["type"] == "http.response.start":
                stream = (b"content-type", b"text/event-stream") in message["headers"]
                kind["send"] = frames if stream else answer
            await kind["send"](message)

        await self._app(_sized(scope, body), _replayed(body, receive), either)


class _Whole:
    """Holds an answer back until it is whole."""

    def __init__(self, send: Send, alter: Callable[[int, Json], tuple[int, Json | bytes]]) -> None:
        self._send, self._alter = send, alter
        self._start: Message = {}
        self._body = b""
        self.content_type = b"application/json"

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        self._body += message.get("body", b"")
        if message.get("more_body", False):
            return
        status, body = self._start["status"], self._body
        if body:
            status, altered = self._alter(status, json.loads(body))
            body = altered if isinstance(altered, bytes) else json.dumps(altered).encode()
        altered_headers = {b"content-length": b"%d" % len(body), b"content-type": self.content_type}
        headers = [(name, altered_headers.get(name, value)) for name, value in self._start["headers"]]
        await self._send({**self._start, "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


class _Frames:
    """Alters the frames of a stream as they come."""

    def __init__(self, send: Send, alter: Callable[[Json], list[Json]]) -> None:
        self._send, self._alter = send, alter
        self._ended = False

    async def __call__(self, message: Message) -> None:
        body = message.get("body", b"")
        if self._ended:
            return
        if not body.startswith(b"data: "):
            await self._send(message)
            return
        for frame in self._alter(json.loads(body.removeprefix(b"data: "))):
            event = b"data: " + json.dumps(frame).encode() + b"\n\n"
            self._ended = "result" in frame
            await self._send({"type": "http.response.body", "body": event, "more_body": not self._ended})


def _sized(scope: Scope, body: bytes) -> Scope:
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
    return {**scope, "headers": [*headers, (b"content-length", b"%d" % len(body))]}


def _replayed(body: bytes, receive: Receive) -> Receive:
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def members_of(message: Json) -> Json | None:
    """The object in which a result or a notification has the members of the note; None in plain MCP."""
    holder = message.get("result") or message.get("params") or {}
    places = [holder.get("_meta", {}).get(STREAM), holder]
    places += [item.get("_meta", {}).get(STREAM) for item in holder.get("contents", [])]
    places += [holder.get("notifications")]
    names = {"cursor", "resourceStreams", "stream"}
    return next((place for place in places if place and names & place.keys()), None)


def asked_members(request: Json) -> Json:
    """The object in which a request has them; empty in plain MCP."""
    params = request["params"]
    return params["_meta"].get(STREAM) or params
