"""The client of FastMCP 4, unchanged, against the real server."""

from __future__ import annotations

import anyio
import pytest
from fastmcp import Client
from fastmcp.exceptions import McpError
from requirement import requirement
from server.wire import NOWHERE, OTHER, STREAM, URI, serving

from streamres import Limits


@requirement("SR-10.1")
async def test_fastmcp_lists_every_page_and_reads_what_is_there_each_time() -> None:
    async with serving(Limits(page_entries=1)) as wire, Client(wire.url) as client:
        await wire.server.create(OTHER)
        with anyio.fail_after(10):
            listed = await client.list_resources()
            texts = []
            for text in ("a", "b"):
                await wire.append(text)
                (contents,) = await client.read_resource(URI)
                texts.append(contents.text)

    assert [str(resource.uri) for resource in listed] == [URI, OTHER]
    assert texts == ["a", "ab"]


@requirement("SR-10.5")
async def test_fastmcp_reads_a_delta_with_since_in_meta() -> None:
    async with serving() as wire, Client(wire.url) as client:
        since = await wire.cursor()
        await wire.append("news")
        with anyio.fail_after(10):
            delta = await client.read_resource_mcp(URI, meta={STREAM: {"since": since}})

    assert delta.contents == []
    assert (delta.meta or {})[STREAM]["delta"]["text"] == "news"


@requirement("SR-5.6")
async def test_fastmcp_is_told_of_an_unknown_resource() -> None:
    async with serving() as wire, Client(wire.url) as client:
        with anyio.fail_after(10), pytest.raises(McpError):
            await client.read_resource(NOWHERE)
