"""A real server on a loopback port, raw requests to it, raw frames from it.

The names on the wire are spelled out here again, so that a slip in the product's own list of them shows.
"""

from __future__ import annotations

import json
import ssl
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx2

from streamres import Server
from streamres.store import MemoryStore

from .frames import STREAM, Answer, Binding, HttpFrames

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

    from streamres import Limits
    from streamres.model import Seal
    from streamres.store import Store, Watch

VERSION = "2026-07-28"
EXTENSION = "dev.streamres/streamable-resources"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"

URI = "build://7/log"
OTHER = "build://8/log"
NOWHERE = "build://9/log"

_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # a client of its own would load every certificate there is


def http_client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(verify=_NO_TLS, timeout=5, trust_env=False)


def envelope(declared: object = None) -> dict[str, Any]:
    """The `_meta` of a modern request, with the extension declared in the given binding."""
    capabilities = {} if declared is None else {"extensions": {EXTENSION: {"binding": declared}}}
    return {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }


def message(method: str, params: Mapping[str, Any], *, request_id: object = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).encode()


def headers_for(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    headers = {"content-type": "application/json", "mcp-protocol-version": VERSION, "mcp-method": method}
    named_by = {"resources/read": "uri", "tools/call": "name"}.get(method)
    return headers if named_by is None else {**headers, "mcp-name": params[named_by]}


def placed(binding: Binding | None, params: Mapping[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
    """`params` with the extension's members where the binding has them; in a filter if there is one."""
    meta = dict(params.get("_meta", {}))
    if binding == "meta":
        return {**params, "_meta": {**meta, STREAM: dict(members)}}
    if "notifications" in params:
        return {**params, "notifications": {**params["notifications"], **members}}
    return {**params, **members}


class Wire:
    """Raw requests to one server."""

    def __init__(self, server: Server, url: str, http: httpx2.AsyncClient, *, uri: str = URI) -> None:
        self.server, self.url, self.http, self.uri = server, url, http, uri

    async def append(self, *texts: str, uri: str | None = None) -> None:
        for text in texts:
            await self.server.store.append(uri or self.uri, text.encode())

    async def seal(self, state: Seal = "complete", text: str = "") -> None:
        await self.server.store.append(self.uri, text.encode(), seal=state)

    async def post(self, body: bytes, headers: Mapping[str, str]) -> httpx2.Response:
        with anyio.fail_after(5):
            return await self.http.post(self.url, content=body, headers=dict(headers))

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        declared: Binding | None = None,
        request_id: object = 1,
    ) -> Answer:
        params = dict(params or {})
        params["_meta"] = {**envelope(declared), **params.get("_meta", {})}
        response = await self.post(message(method, params, request_id=request_id), headers_for(method, params))
        return Answer(response.status_code, response.json())

    async def read(
        self,
        binding: Binding | None,
        uri: str | None = None,
        *,
        declared: Binding | None = None,
        **members: object,
    ) -> Answer:
        """A read; without members, with the extension declared instead."""
        uri = uri or self.uri
        if not members:
            return await self.ask("resources/read", {"uri": uri}, declared=declared or binding)
        return await self.ask("resources/read", placed(binding, {"uri": uri}, members), declared=declared)

    async def cursor(self, uri: str | None = None) -> str:
        return (await self.read("fields", uri)).stream("fields")["cursor"]

    @asynccontextmanager
    async def listen(
        self,
        binding: Binding | None,
        streams: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        core: Mapping[str, Any] | None = None,
        declared: Binding | None = None,
        request_id: object = 1,
    ) -> AsyncIterator[HttpFrames]:
        params: dict[str, Any] = {"notifications": dict(core or {}), "_meta": envelope(declared)}
        if streams is not None:
            params = placed(binding, params, {"resourceStreams": streams})
        async with self.raw_listen(params, request_id=request_id) as frames:
            yield frames

    @asynccontextmanager
    async def raw_listen(self, params: Mapping[str, Any], *, request_id: object = 1) -> AsyncIterator[HttpFrames]:
        body = message("subscriptions/listen", params, request_id=request_id)
        headers = headers_for("subscriptions/listen", params)
        async with self.http.stream("POST", self.url, content=body, headers=headers) as response:
            if response.status_code != 200:
                await response.aread()
            yield HttpFrames(response)


def moved(binding: Binding, frame: Mapping[str, Any]) -> dict[str, Any]:
    """The extension's members of a `notifications/resources/updated`."""
    assert frame["method"] == "notifications/resources/updated"
    params = frame["params"]
    if binding == "meta":
        assert set(params) == {"_meta", "uri"}
        return params["_meta"][STREAM]
    return {name: value for name, value in params.items() if name not in ("_meta", "uri")}


def acknowledged(binding: Binding, frame: Mapping[str, Any]) -> dict[str, Any]:
    """The `resourceStreams` of an acknowledgement."""
    assert frame["method"] == "notifications/subscriptions/acknowledged"
    params = frame["params"]
    place = params["_meta"][STREAM] if binding == "meta" else params["notifications"]
    return place["resourceStreams"]


class WatchedStore(MemoryStore):
    """Knows how many watch it, and lets a test wait until they are so many."""

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits)
        self.watchers = 0
        self._counted = anyio.Event()

    @contextmanager
    def watch(self, uris: Iterable[str], *, list_changed: bool = False) -> Iterator[Watch]:
        with super().watch(uris, list_changed=list_changed) as watch:
            self._count(+1)
            try:
                yield watch
            finally:
                self._count(-1)

    async def until_watched_by(self, watchers: int) -> None:
        with anyio.fail_after(5):
            while self.watchers != watchers:
                await self._counted.wait()

    def _count(self, step: int) -> None:
        self.watchers += step
        self._counted.set()
        self._counted = anyio.Event()


@asynccontextmanager
async def serving(
    limits: Limits | None = None, *, store: Store | None = None, upload: bool = False
) -> AsyncIterator[Wire]:
    """A server with an empty resource at `URI`."""
    server = Server("tested", limits=limits, store=store)
    await server.create(URI, name="log")
    failure: Exception | None = None
    async with server.serve(port=0, upload=upload) as url, http_client() as http:
        try:
            yield Wire(server, url, http)
        except Exception as exc:  # a test that fails reads as itself, and its server ends in order
            failure = exc
    if failure is not None:
        raise failure
