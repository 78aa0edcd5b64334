"""A client of tools that keeps every message it gets, over real HTTP."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from server.wire import EXTENSION, STREAM, VERSION, http_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from streamres import Server

TASKS = "io.modelcontextprotocol/tasks"
TIMEOUT_S = 10

TAKES_TASKS: dict[str, Any] = {"extensions": {TASKS: {}}}
TAKES_PARTIALS: dict[str, Any] = {"partialResults": {}}
ELICITS: dict[str, Any] = {"elicitation": {}}


def streams(binding: str = "fields", **settings: object) -> dict[str, Any]:
    """The capabilities of a client that declares the extension."""
    return {"extensions": {EXTENSION: {"binding": binding, **settings}}}


def both(*capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Several capabilities in one."""
    merged: dict[str, Any] = {}
    for some in capabilities:
        extensions = {**merged.get("extensions", {}), **some.get("extensions", {})}
        merged = {**merged, **some}
        if extensions:
            merged["extensions"] = extensions
    return merged


@dataclass
class Called:
    """All that came back for one request."""

    status: int
    content_type: str
    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def result(self) -> dict[str, Any]:
        """The result, which is the last message."""
        assert "result" in self.messages[-1], self.messages[-1]
        result: dict[str, Any] = self.messages[-1]["result"]
        return result

    @property
    def error(self) -> dict[str, Any]:
        assert "error" in self.messages[-1], self.messages[-1]
        error: dict[str, Any] = self.messages[-1]["error"]
        return error

    @property
    def text(self) -> str:
        """The text of the result's first block."""
        text: str = self.result["content"][0]["text"]
        return text

    def heard(self, method: str) -> list[dict[str, Any]]:
        """The params of the notifications of one method."""
        return [message["params"] for message in self.messages if message.get("method") == method]

    @property
    def partials(self) -> list[dict[str, Any]]:
        return self.heard("notifications/tools/partial_result")


class Caller:
    """Calls the tools of one server."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        self.url = url
        self._http = http
        self._ids = 0

    def request(
        self, method: str, params: Mapping[str, Any], capabilities: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> httpx2.Request:
        self._ids += 1
        envelope = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": dict(capabilities),
            **meta,
        }
        body = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": {**params, "_meta": envelope}}
        headers = {"content-type": "application/json", "mcp-protocol-version": VERSION, "mcp-method": method}
        name = params.get("name") or params.get("taskId") or params.get("uri")
        if isinstance(name, str) and name.isascii():
            headers["mcp-name"] = name
        content = json.dumps(body)
        return self._http.build_request("POST", self.url, content=content, headers=headers, timeout=30)

    @asynccontextmanager
    async def begin(
        self,
        method: str,
        params: Mapping[str, Any],
        capabilities: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[tuple[Called, AsyncIterator[dict[str, Any]]]]:
        """Sends a request, and gives its messages as they come; left early, the connection is cut."""
        request = self.request(method, params, capabilities or {}, meta or {})
        response = await self._http.send(request, stream=True)
        called = Called(response.status_code, response.headers.get("content-type", ""))

        async def messages() -> AsyncIterator[dict[str, Any]]:
            if called.content_type == "application/json":
                called.messages.append(json.loads(await response.aread()))
                yield called.messages[-1]
                return
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    called.messages.append(json.loads(line[6:]))
                    yield called.messages[-1]

        try:
            yield called, messages()
        finally:
            await response.aclose()

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        capabilities: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Called:
        with anyio.fail_after(TIMEOUT_S):
            async with self.begin(method, params, capabilities, meta) as (called, messages):
                async for _ in messages:
                    pass
        return called

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
        **params: object,
    ) -> Called:
        """Calls a tool to its end, or until it is a task."""
        said = {"name": name, "arguments": arguments or {}, **params}
        return await self.ask("tools/call", said, capabilities, meta)

    async def task(self, task_id: str, capabilities: Mapping[str, Any] = TAKES_TASKS) -> dict[str, Any]:
        """A task as it stands."""
        return (await self.ask("tasks/get", {"taskId": task_id}, capabilities)).result

    async def until(self, task_id: str, *status: str) -> dict[str, Any]:
        """A task once it has one of these: it is told, not asked again and again."""
        wanted = {"notifications": {"taskIds": [task_id]}}
        with anyio.fail_after(TIMEOUT_S):
            async with self.begin("subscriptions/listen", wanted, TAKES_TASKS) as (_, messages):
                async for message in messages:
                    if message.get("method") == "notifications/tasks" and message["params"]["status"] in status:
                        params: dict[str, Any] = message["params"]
                        return params
        raise AssertionError("the subscription ended")

    async def read(self, uri: str, since: str | None = None) -> dict[str, Any]:
        """A read of a resource, with a cursor where there is one."""
        params = {"uri": uri} if since is None else {"uri": uri, "since": since}
        return (await self.ask("resources/read", params, streams())).result

    async def whole(self, uri: str) -> str:
        text: str = (await self.read(uri))["contents"][0]["text"]
        return text


def stream_of(members: Mapping[str, Any]) -> dict[str, Any]:
    """The extension's members in `_meta`."""
    found: dict[str, Any] = members["_meta"][STREAM]
    return found


@asynccontextmanager
async def calling(server: Server) -> AsyncIterator[Caller]:
    """Serves, and gives a client."""
    async with server.serve(port=0) as url, http_client() as http:
        yield Caller(url, http)
