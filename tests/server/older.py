"""A client of the older era by hand: what it posts, and the stream that it opens with GET."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from streamres import Limits, Server
from streamres.server import Dispatcher
from streamres.transport import Guard, HttpEndpoint, bind, origin_of, serving

from .frames import STREAM, HttpFrames
from .wire import URI, Wire, http_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import httpx2

    from streamres.store import Store

OLDER = ["2025-11-25", "2025-06-18", "2025-03-26"]


class Older:
    """One client; `session` is the id that it was given."""

    def __init__(self, wire: Wire, session: str | None = None, *, version: str | None = OLDER[0]) -> None:
        self.wire, self.session, self.version = wire, session, version

    @property
    def headers(self) -> dict[str, str]:
        named = {"mcp-protocol-version": self.version, "mcp-session-id": self.session}
        return {name: value for name, value in named.items() if value is not None}

    async def post(self, method: str, params: Mapping[str, Any] | None = None, **more: object) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params or {}), **more}
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        return await self.wire.post(json.dumps(body).encode(), {**headers, **self.headers})

    async def initialize(self) -> dict[str, Any]:
        client = {"name": "old", "version": "1"}
        params = {"protocolVersion": self.version or OLDER[-1], "capabilities": {}, "clientInfo": client}
        response = await self.post("initialize", params)
        self.session = response.headers.get("mcp-session-id")
        return response.json()

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        response = await self.post(method, params)
        assert response.status_code == 200, response.text
        return response.json()

    async def subscribe(self, *uris: str) -> None:
        for uri in uris or (self.wire.uri,):
            assert await self.ask("resources/subscribe", {"uri": uri}) == {"jsonrpc": "2.0", "id": 1, "result": {}}

    async def unsubscribe(self, uri: str) -> None:
        answer = await self.ask("resources/unsubscribe", {"uri": uri})
        assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}

    async def request(self, http_method: str) -> httpx2.Response:
        """A GET or DELETE that is answered at once."""
        headers = {"accept": "text/event-stream", **self.headers}
        with anyio.fail_after(5):
            return await self.wire.http.request(http_method, self.wire.url, headers=headers)

    @asynccontextmanager
    async def stream(self) -> AsyncIterator[HttpFrames]:
        headers = {"accept": "text/event-stream", **self.headers}
        async with self.wire.http.stream("GET", self.wire.url, headers=headers) as response:
            assert response.status_code == 200
            assert response.headers["content-type"] == "text/event-stream"
            yield HttpFrames(response)


async def begun(wire: Wire, *, version: str | None = OLDER[0]) -> Older:
    """A client that has a session."""
    client = Older(wire, version=version)
    await client.initialize()
    assert client.session is not None
    return client


def told(frame: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The URI and the extension's members of an update."""
    assert frame["method"] == "notifications/resources/updated"
    params = frame["params"]
    assert set(params) == {"uri", "_meta"}
    assert set(params["_meta"]) == {STREAM}
    return params["uri"], params["_meta"][STREAM]


async def until_nobody_streams(wire: Wire) -> None:
    (dispatcher,) = wire.server._dispatchers
    with anyio.fail_after(5):
        while dispatcher.subscriptions.open:
            await anyio.lowlevel.checkpoint()


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def serving_by(
    clock: Clock, limits: Limits | None = None, store: Store | None = None
) -> AsyncIterator[Wire]:
    """A server whose idle sessions end by `clock`, with an empty resource at `URI`."""
    server = Server("tested", limits=limits, store=store)
    await server.create(URI, name="log")
    dispatcher = Dispatcher(server.store, server.limits, name="tested", version="1", clock=clock)
    server._dispatchers.add(dispatcher)
    endpoint = HttpEndpoint(dispatcher, server.limits, Guard())
    sock = bind("127.0.0.1", 0)
    url = origin_of(sock) + "/mcp"
    failure: Exception | None = None
    async with serving(endpoint, sock, close=dispatcher.close, limits=server.limits), http_client() as http:
        try:
            yield Wire(server, url, http)
        except Exception as exc:  # a test that fails reads as itself, and its server ends in order
            failure = exc
    if failure is not None:
        raise failure
