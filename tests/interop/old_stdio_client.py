"""Run by itself, with the SDK 1.x: starts a stdio server, reads a part, then the delta; prints JSON."""

from __future__ import annotations

import asyncio
import json
import sys

import mcp.types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic import AnyUrl

STREAM = "dev.streamres/stream"


async def main(uri: str, *command: str) -> None:
    server = StdioServerParameters(command=command[0], args=list(command[1:]))
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        handshake = await session.initialize()
        await session.send_ping()
        listed = await session.list_resources()

        async def read(**members: object) -> types.ReadResourceResult:
            meta = types.RequestParams.Meta(**{STREAM: members})
            params = types.ReadResourceRequestParams(uri=AnyUrl(uri), _meta=meta)
            request = types.ClientRequest(types.ReadResourceRequest(params=params))
            return await session.send_request(request, types.ReadResourceResult)

        part = await read(maxBytes=4)
        delta = await read(since=(part.meta or {})[STREAM]["cursor"])
    said = {
        "version": handshake.protocolVersion,
        "listed": [str(resource.uri) for resource in listed.resources],
        "part": part.contents[0].text,
        "contents": len(delta.contents),
        "delta": (delta.meta or {})[STREAM]["delta"]["text"],
    }
    print(json.dumps(said))


asyncio.run(main(*sys.argv[1:]))
