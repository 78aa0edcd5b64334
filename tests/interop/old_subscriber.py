"""Run by itself, with the SDK 1.x: subscribes, and at each update reads since its cursor, until the seal.

`http URL URI` or `stdio URI COMMAND...`. Prints what is offered once it is subscribed, then what it assembled.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp.types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

STREAM = "dev.streamres/stream"


class Subscriber:
    """Holds the text up to its cursor."""

    def __init__(self, uri: str) -> None:
        self.uri = AnyUrl(uri)
        self.text, self.cursor = "", ""
        self.updates: list[dict[str, Any]] = []
        self._told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def on_message(self, message: object) -> None:
        if isinstance(message, types.ServerNotification):
            match message.root:
                case types.ResourceUpdatedNotification(params=params):
                    assert params.uri == self.uri
                    await self._told.put(params.meta.model_extra[STREAM])

    async def read(self, session: ClientSession, **members: object) -> types.ReadResourceResult:
        meta = types.RequestParams.Meta(**{STREAM: members})
        params = types.ReadResourceRequestParams(uri=self.uri, _meta=meta)
        request = types.ClientRequest(types.ReadResourceRequest(params=params))
        return await session.send_request(request, types.ReadResourceResult)

    async def catch_up(self, session: ClientSession) -> dict[str, Any]:
        """Reads since the cursor; all there is, where there is none yet."""
        read = await self.read(session, **({"since": self.cursor} if self.cursor else {}))
        members = read.meta[STREAM]
        if self.cursor:
            assert members["delta"]["from"] == self.cursor
            self.text += members["delta"]["text"]
        else:
            self.text = read.contents[0].text
        self.cursor = members["cursor"]
        return members

    async def follow(self, session: ClientSession) -> None:
        await session.subscribe_resource(self.uri)
        print(json.dumps(session.get_server_capabilities().resources.model_dump(exclude_none=True)), flush=True)
        while not self.updates or self.updates[-1]["state"] == "open":
            self.updates.append(await self._told.get())
            members = await self.catch_up(session)
        await session.unsubscribe_resource(self.uri)
        digest = b64encode(hashlib.sha256(self.text.encode()).digest()).decode()
        said = {"text": self.text, "proven": members["digest"] == f"sha-256=:{digest}:", "updates": self.updates}
        print(json.dumps(said), flush=True)


@asynccontextmanager
async def connected(transport: str, where: str, *command: str) -> AsyncIterator[tuple[Any, Any, str]]:
    if transport == "http":
        async with streamable_http_client(where) as (reader, writer, _):
            yield reader, writer, command[0]
    else:
        server = StdioServerParameters(command=command[0], args=list(command[1:]))
        async with stdio_client(server) as (reader, writer):
            yield reader, writer, where


async def main(*arguments: str) -> None:
    async with connected(*arguments) as (reader, writer, uri):
        subscriber = Subscriber(uri)
        async with ClientSession(reader, writer, message_handler=subscriber.on_message) as session:
            await session.initialize()
            await subscriber.follow(session)


asyncio.run(main(*sys.argv[1:]))
