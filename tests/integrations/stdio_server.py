"""Run by itself: a server of the SDK or of FastMCP over stdio, whose tools write to a resource of the store."""

from __future__ import annotations

import sys

import anyio
import mcp_types as types
from fastmcp import FastMCP
from mcp.server import MCPServer, Server
from mcp.server.stdio import stdio_server
from server.wire import WatchedStore

import streamres
from streamres.integrations.mcp_sdk import attach


async def main(kind: str, uri: str) -> None:
    store = WatchedStore()
    log = await streamres.Server("producer", store=store).create(uri)

    async def say(text: str) -> str:
        await log.append(text)
        return "said"

    async def watched_by(watchers: int) -> str:
        await store.until_watched_by(watchers)
        return "so many"

    async def call(ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = params.arguments or {}
        text = await (say(**arguments) if params.name == "say" else watched_by(**arguments))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def tools(ctx: object, params: object) -> types.ListToolsResult:
        taken: dict[str, object] = {"type": "object"}
        return types.ListToolsResult(
            tools=[types.Tool(name=name, input_schema=taken) for name in ("say", "watched_by")]
        )

    match kind:
        case "Server":
            low_level = Server("tested", on_list_tools=tools, on_call_tool=call)
            attach(low_level, store)
            async with stdio_server() as (source, sink):
                await low_level.run(source, sink, low_level.create_initialization_options())
        case "MCPServer":
            server = MCPServer("tested")
            server.tool()(say)
            server.tool()(watched_by)
            attach(server, store)
            await server.run_stdio_async()
        case "FastMCP":
            fast = FastMCP("tested")
            fast.tool(say)
            fast.tool(watched_by)
            attach(fast, store)
            await fast.run_async("stdio", show_banner=False)


anyio.run(main, *sys.argv[1:])
