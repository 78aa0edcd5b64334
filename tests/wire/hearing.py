"""Interposes between a transport and its peer, without a change to either: what passes is heard on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import pytest
from starlette.types import Message, Receive, Scope, Send

from streamres.sources.upload import Upload
from streamres.transport import HttpEndpoint, StdioPeer, stdio
from streamres.transport.descriptors import Sink


class Heard(Protocol):
    """Is told of each message in order."""

    def asked(self, body: bytes) -> None: ...

    def said(self, body: bytes) -> None: ...

    def uploaded(self, body: bytes, status: int) -> None: ...


def hear_http(patch: pytest.MonkeyPatch, begin: Callable[[str | None], Heard]) -> None:
    """Hears every HTTP request and its response; `begin` is given the header for the version."""
    for endpoint in (HttpEndpoint, Upload):
        patch.setattr(endpoint, "__call__", _heard(endpoint.__call__, begin, is_upload=endpoint is Upload))


def _heard(serve: Any, begin: Callable[[str | None], Heard], *, is_upload: bool) -> Any:  # noqa: ANN401
    async def heard(self: object, scope: Scope, receive: Receive, send: Send) -> None:
        version = dict(scope["headers"]).get(b"mcp-protocol-version")
        talk = begin(None if version is None else version.decode("latin-1"))
        response = _Response(talk, is_upload=is_upload)
        body = bytearray()

        async def hear() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                body.extend(message.get("body", b""))
                if not message.get("more_body", False) and not is_upload:
                    talk.asked(bytes(body))
            return message

        async def say(message: Message) -> None:
            response.sent(message)
            await send(message)

        await serve(self, scope, hear, say)

    return heard


class _Response:
    """Puts the body of one HTTP response together again."""

    def __init__(self, talk: Heard, *, is_upload: bool) -> None:
        self._talk = talk
        self._is_upload = is_upload
        self._is_stream = False
        self._status = 0
        self._body = bytearray()

    def sent(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._is_stream = dict(message["headers"]).get(b"content-type", b"").startswith(b"text/event-stream")
            return
        self._body += message.get("body", b"")
        if self._is_stream:
            *events, self._body = self._body.split(b"\n\n")
            for event in events:
                if event != b":":
                    self._talk.said(bytes(event.removeprefix(b"data: ")))
        elif self._body and not message.get("more_body", False):
            if self._is_upload:
                self._talk.uploaded(bytes(self._body), self._status)
            else:
                self._talk.said(bytes(self._body))


def hear_stdio(patch: pytest.MonkeyPatch, begin: Callable[[], Heard]) -> None:
    """Hears every line of the stdio peers in this process."""
    talks: dict[int, Heard] = {}
    asked: dict[int, bytearray] = {}
    make, read_some = StdioPeer.__init__, stdio.read_some

    def init(self: StdioPeer, dispatcher: Any, limits: Any, source: int, sink: int) -> None:  # noqa: ANN401
        talks[source] = talks[sink] = begin()
        asked[source] = bytearray()
        make(self, dispatcher, limits, source, sink)

    async def read(fd: int) -> bytes:
        data = await read_some(fd)
        *lines, asked[fd] = (asked[fd] + data).split(b"\n")
        for line in lines:
            talks[fd].asked(bytes(line))
        return data

    class HeardSink(Sink):
        def __init__(self, fd: int) -> None:
            super().__init__(fd)
            self._talk = talks[fd]
            self._said = bytearray()

        async def write(self, data: bytes) -> None:
            *lines, self._said = (self._said + data).split(b"\n")
            for line in lines:
                self._talk.said(bytes(line))
            await super().write(data)

    patch.setattr(StdioPeer, "__init__", init)
    patch.setattr(stdio, "read_some", read)
    patch.setattr(stdio, "Sink", HeardSink)
