"""Run by itself, with the SDK 1.x on the path: list, read, a delta through `_meta`; prints what it got as JSON."""

from __future__ import annotations

import asyncio
import json
import sys

import mcp.types as types
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

STREAM = "dev.streamres/stream"


async def main(url: str, uri: str, since: str) -> None:
    async with streamable_http_client(url) as (reader, writer, _), ClientSession(reader, writer) as session:
        handshake = await session.initialize()
        await session.send_ping()
        listed = await session.list_resources()
        read = await session.read_resource(AnyUrl(uri))
        meta = types.RequestParams.Meta(**{STREAM: {"since": since}})
        params = types.ReadResourceRequestParams(uri=AnyUrl(uri), _meta=meta)
        request = types.ClientRequest(types.ReadResourceRequest(params=params))
        delta = await session.send_request(request, types.ReadResourceResult)
    said = {
        "version": handshake.protocolVersion,
        "listed": [str(resource.uri) for resource in listed.resources],
        "text": read.contents[0].text,
        "contents": len(delta.contents),
        "stream": (delta.meta or {}).get(STREAM),
    }
    print(json.dumps(said))


asyncio.run(main(*sys.argv[1:]))
