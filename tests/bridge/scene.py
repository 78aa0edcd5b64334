"""A bridge in front of a server, and one who calls through it."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from server.wire import http_client
from tools.caller import Caller, streams

from streamres import Client, Limits, Server
from streamres.bridge import Bridge

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tools.caller import Called


@dataclass
class Scene:
    """The bridge at work."""

    server: Server
    upstream: Client
    caller: Caller

    async def named(self, messages: AsyncIterator[dict[str, Any]], *names: str) -> dict[str, str]:
        """The URIs of outputs by their names, once a call that is under way has named all of these."""
        found: dict[str, str] = {}
        while not set(names) <= set(found):
            message = await anext(messages)
            if message.get("method") == "notifications/tools/outputs":
                found |= {link["name"]: link["uri"] for link in message["params"]["outputs"]}
        return found

    async def until(self, uri: str, text: str) -> None:
        """Returns when the resource has this text."""
        with self.server.store.watch([uri]) as watch:
            while (await self.caller.whole(uri)) != text:
                await watch.wait()
                watch.take()

    async def until_report(self, uri: str, **members: object) -> dict[str, Any]:
        """The report, once it says this."""
        with self.server.store.watch([uri]) as watch:
            while True:
                report: dict[str, Any] = json.loads(await self.caller.whole(uri))
                if all(report[name] == value for name, value in members.items()):
                    return report
                await watch.wait()
                watch.take()

    async def report(self, uri: str) -> dict[str, Any]:
        found = await self.document(uri)
        assert isinstance(found, dict)
        return found

    async def document(self, uri: str) -> object:
        return json.loads(await self.caller.whole(uri))


def links(called: Called) -> dict[str, dict[str, Any]]:
    """The outputs that a result links, by their names."""
    return {block["name"]: block for block in called.result["content"] if block["type"] == "resource_link"}


@asynccontextmanager
async def bridged(
    upstream: str | Sequence[str], *, limits: Limits | None = None, task_after_s: float | None = None
) -> AsyncIterator[Scene]:
    """Serves a bridge to a URL or a command."""
    server = Server("bridge", limits=limits)
    with anyio.fail_after(60):
        async with Client(upstream) as client:
            bridge = Bridge(client, server.tools, server.store, server.limits, task_after_s=task_after_s)
            async with bridge.running(), server.serve(port=0) as url, http_client() as http:
                yield Scene(server, client, Caller(url, http))


STREAMS = streams()
