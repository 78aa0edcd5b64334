"""How the clients of a scene reach its server: over HTTP, or over two pipes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
import httpx2
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream
from server.wire import headers_for, http_client
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send
from transport.stdio_peer import Talk

from streamres import Limits
from streamres.transport import bind, origin_of, serving

from .golden import Frame

_WAIT_S = 10


class Channel(Protocol):
    """Between the clients of a scene and its server."""

    unanswered: bool
    """Whether nothing was said since the last request."""

    async def send(self, frame: Frame) -> None:
        """Sends what a client says."""
        ...

    async def receive(self) -> Frame:
        """Gives what the server says next."""
        ...

    async def end(self) -> None:
        """Ends what the client says."""
        ...

    async def until_ended(self) -> None:
        """Demands that the server says nothing more."""
        ...


@dataclass
class House:
    """A real HTTP server that has one scene after the other on: only making one anew would take a while."""

    origin: str
    http: httpx2.AsyncClient
    tasks: TaskGroup
    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


@asynccontextmanager
async def opened() -> AsyncIterator[House]:
    """A house, for as long as the context lasts."""
    sock = bind("127.0.0.1", 0)
    async with http_client() as http, anyio.create_task_group() as tasks:
        house = House(origin_of(sock), http, tasks, Router())
        async with serving(house, sock, close=lambda: None, limits=Limits()):
            yield house


class HttpChannel:
    """One request after the other; what answers the last one comes before the next."""

    def __init__(self, house: House) -> None:
        self.unanswered = False
        self._house = house
        self._answers: MemoryObjectReceiveStream[Frame] | None = None

    async def send(self, frame: Frame) -> None:
        await self.until_ended()
        send, self._answers = anyio.create_memory_object_stream[Frame](100)
        self._house.tasks.start_soon(self._ask, self._request(frame), send)
        self.unanswered = True

    async def receive(self) -> Frame:
        assert self._answers is not None, "nothing was asked"
        with anyio.fail_after(_WAIT_S):
            frame = await self._answers.receive()
        self.unanswered = False
        return frame

    async def end(self) -> None:
        raise AssertionError("a request over HTTP is ended when it is sent")

    async def until_ended(self) -> None:
        if self._answers is not None:
            with anyio.fail_after(_WAIT_S), self._answers:
                async for frame in self._answers:
                    raise AssertionError(f"one frame too many: {frame}")
            self._answers = None

    def leave(self) -> None:
        """Hears nothing more."""
        if self._answers is not None:
            self._answers.close()

    def _request(self, frame: Frame) -> httpx2.Request:
        http, origin = self._house.http, self._house.origin
        if "http" in frame:
            method, target = frame["http"].split(" ")
            return http.build_request(method, origin + target, content=frame["body"])
        message = frame["message"]
        headers = headers_for(message["method"], message["params"])
        return http.build_request("POST", f"{origin}/mcp", content=json.dumps(message), headers=headers)

    async def _ask(self, request: httpx2.Request, send: Any) -> None:  # noqa: ANN401
        with send, suppress(anyio.BrokenResourceError):
            response = await self._house.http.send(request, stream=True)
            try:
                if response.headers["content-type"] == "text/event-stream":
                    async for event in httpx2.EventSource(response):
                        await send.send({"from": "server", "message": json.loads(event.data)})
                else:
                    body = json.loads(await response.aread())
                    await send.send({"from": "server", "status": response.status_code, "message": body})
            finally:
                await response.aclose()


class StdioChannel:
    """Everything on two pipes, until the client ends its own."""

    def __init__(self, talk: Talk) -> None:
        self.unanswered = False
        self._talk = talk
        self._ended = False

    async def send(self, frame: Frame) -> None:
        await self._talk.say(json.dumps(frame["message"]).encode() + b"\n")
        self.unanswered = "id" in frame["message"]

    async def receive(self) -> Frame:
        frame = {"from": "server", "message": await self._talk.hear()}
        self.unanswered = False
        return frame

    async def end(self) -> None:
        self._talk.stop_asking()
        self._ended = True

    async def until_ended(self) -> None:
        if not self._ended:
            await self.end()
        line = await self._talk.line()
        assert not line, f"one frame too many: {line!r}"
