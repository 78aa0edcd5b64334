"""Streamable resources on a server that is built with the official SDK, beside its own tools and resources."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server import MCPServer

from streamres import Server
from streamres.integrations.mcp_sdk import attach

builds = Server("builds")  # makes the resources; it is not served itself


async def build() -> None:
    log = await builds.create("build://7/log", title="Build 7")
    for number in range(1, 6):
        await log.append(f"step {number} of 5\n")
        await anyio.sleep(0.2)
    await log.seal()


@asynccontextmanager
async def lifespan(server: MCPServer[Any]) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(build)
        yield
        tasks.cancel_scope.cancel()


mcp = MCPServer("builds", lifespan=lifespan)
attach(mcp, builds.store)


@mcp.resource("builds://about")
def about() -> str:
    """Says what is here; it is read from this server as always."""
    return "The log of build 7 is at build://7/log."


if __name__ == "__main__":
    mcp.run("streamable-http", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8765)
