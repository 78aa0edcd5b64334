"""A server of the SDK or of FastMCP as the child of its client, over stdio."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from interop.test_mcp_sdk import Heard
from mcp import StdioServerParameters
from mcp.client.subscriptions import ResourceUpdated
from requirement import requirement
from server.wire import STREAM, URI

from .site import Kind, client_of, stream_of

HERE = Path(__file__).parent


def child(kind: Kind) -> StdioServerParameters:
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    return StdioServerParameters(
        command=sys.executable, args=[str(HERE / "stdio_server.py"), kind, URI], env=environment
    )


@requirement("SR-10.3.a")
@requirement("SR-6.3.a")
async def test_its_client_lists_reads_a_delta_hears_and_ends_a_subscription(kind: Kind) -> None:
    heard = Heard()
    async with client_of(child(kind), declared=True, heard=heard) as client:
        listed = await client.list_resources()
        first = await client.read_resource(URI, meta={STREAM: {}})
        async with client.listen(resource_subscriptions=[URI]) as subscription:
            await client.call_tool("say", {"text": "news"})
            updated = await anext(subscription)
            await heard.until(1)
            await client.call_tool("watched_by", {"watchers": 1})
        await client.call_tool("watched_by", {"watchers": 0})
        await client.call_tool("say", {"text": " to nobody"})
        delta = await client.read_resource(URI, meta={STREAM: {"since": stream_of(first)["cursor"]}})

    assert [entry.uri for entry in listed.resources] == [URI]
    assert updated == ResourceUpdated(uri=URI)
    assert [(update["revision"], update["state"]) for update in heard.updates] == [(1, "open")]
    assert stream_of(delta)["delta"]["text"] == "news to nobody"


async def test_an_older_client_lists_and_reads(kind: Kind) -> None:
    async with client_of(child(kind), mode="legacy") as client:
        first = await client.read_resource(URI, meta={STREAM: {}})
        await client.call_tool("say", {"text": "news"})
        delta = await client.read_resource(URI, meta={STREAM: {"since": stream_of(first)["cursor"]}})

    assert stream_of(delta)["delta"]["text"] == "news"
