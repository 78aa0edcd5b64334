"""Run by itself, with `new` or `old` and a port or none: a server of the official SDK that tells its progress."""

import os
import sys
from pathlib import Path

import anyio

KIND, PORT = sys.argv[1], sys.argv[2]

if KIND == "new":
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

    server = MCPServer("official")
else:
    from mcp.server.fastmcp import Context, FastMCP

    server = FastMCP("official", port=int(PORT or 0))


@server.tool()
async def build(ctx: Context, steps: int) -> str:
    """Builds."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step}")
    return f"{steps} steps"


@server.tool()
async def wait(ctx: Context, mark: str) -> str:
    await ctx.report_progress(1, 1, "waiting")
    try:
        await anyio.sleep_forever()
    finally:
        Path(mark).touch()
    return "never"


@server.tool()
async def big(ctx: Context, size: int) -> str:
    await ctx.report_progress(1, 1, "big")
    return "x" * size


@server.tool()
async def die() -> str:
    os._exit(7)


if not PORT:
    server.run("stdio")
elif KIND == "new":
    server.run("streamable-http", port=int(PORT))
else:
    server.run("streamable-http")
