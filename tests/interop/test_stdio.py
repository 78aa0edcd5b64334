"""The official clients and FastMCP's, unchanged, start the server themselves and speak to it over stdio."""

from __future__ import annotations

import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
import pytest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from requirement import requirement
from server.wire import NOWHERE, STREAM, URI, VERSION

from streamres.client.push import Producer

from .test_mcp_sdk import Heard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HERE = Path(__file__).parent
OWN_SERVER = [str(HERE / "stdio_server.py"), URI, "old and new"]


@asynccontextmanager
async def started(free_port: int, heard: Heard | None = None) -> AsyncIterator[tuple[Client, Producer]]:
    """The official client with `serve --stdio` as its child, and a producer at that server's port."""
    command = ["-m", "streamres", "serve", "--stdio", "--store", "memory:", "--port", str(free_port)]
    server = StdioServerParameters(command=sys.executable, args=command)
    with anyio.fail_after(30):
        async with (
            Client(server, message_handler=heard) as client,
            Producer(f"http://127.0.0.1:{free_port}/mcp", URI) as producer,
        ):
            yield client, producer


@requirement("SR-10.5")
@requirement("SR-10.3")
async def test_mcp_2_3_lists_reads_a_delta_and_hears_what_is_pushed(free_port: int) -> None:
    async with started(free_port) as (client, producer):
        await producer.append(b"old ")
        listed = await client.list_resources()
        first = await client.read_resource(URI, meta={STREAM: {}})
        since = (first.meta or {})[STREAM]["cursor"]
        async with client.listen(resource_subscriptions=[URI]) as subscription:
            await producer.append(b"and new")
            event = await anext(subscription)
        delta = await client.read_resource(URI, meta={STREAM: {"since": since}})
        with pytest.raises(MCPError) as unknown:
            await client.read_resource(NOWHERE)
        version = client.session.protocol_version

    assert version == VERSION
    assert [resource.uri for resource in listed.resources] == [URI]
    assert event == ResourceUpdated(uri=URI)
    assert (delta.contents, (delta.meta or {})[STREAM]["delta"]["text"]) == ([], "and new")
    assert unknown.value.error.data == {"uri": NOWHERE}


async def test_mcp_2_3_ends_a_subscription_and_the_server_sends_no_more_for_it(free_port: int) -> None:
    heard = Heard()
    async with started(free_port, heard) as (client, producer):
        await producer.append(b"a")
        async with client.listen(resource_subscriptions=[URI]) as subscription:
            await producer.append(b"b")
            await anext(subscription)
        await client.list_resources()
        await producer.append(b"c")
        (contents,) = (await client.read_resource(URI)).contents

    assert isinstance(contents, types.TextResourceContents)
    assert contents.text == "abc"
    assert len(heard.updates) == 1


@requirement("SR-10.5")
async def test_fastmcp_lists_reads_and_gets_a_delta() -> None:
    transport = StdioTransport(sys.executable, OWN_SERVER, keep_alive=False)
    with anyio.fail_after(30):
        async with FastClient(transport) as client:
            listed = await client.list_resources()
            (contents,) = await client.read_resource(URI)
            part = await client.read_resource_mcp(URI, meta={STREAM: {"maxBytes": 4}})
            since = (part.meta or {})[STREAM]["cursor"]
            delta = await client.read_resource_mcp(URI, meta={STREAM: {"since": since}})

    assert [str(resource.uri) for resource in listed] == [URI]
    assert contents.text == "old and new"
    assert (delta.meta or {})[STREAM]["delta"]["text"] == "and new"


@requirement("SR-10.5")
@requirement("SR-10.1")
async def test_mcp_1_30_initializes_lists_reads_and_gets_a_delta(old_sdk: Path) -> None:
    # The old SDK on the path is the client's alone: its own child gets no such variable.
    environment = {**os.environ, "PYTHONPATH": str(old_sdk)}
    command = [sys.executable, str(HERE / "old_stdio_client.py"), URI, sys.executable, *OWN_SERVER]
    with anyio.fail_after(30):
        done = await anyio.run_process(command, env=environment, check=False)

    assert done.returncode == 0, done.stderr.decode()
    said = json.loads(done.stdout)
    assert said == {
        "version": "2025-11-25",
        "listed": [URI],
        "part": "old ",
        "contents": 0,
        "delta": "and new",
    }
