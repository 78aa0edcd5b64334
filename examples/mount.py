"""Streamable resources inside a web application that is there already: MCP at /builds/mcp."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from streamres import Server

server = Server("builds")


async def build() -> None:
    log = await server.create("build://7/log")
    for number in range(1, 6):
        await log.append(f"step {number} of 5\n")
        await anyio.sleep(0.2)
    await log.seal()


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(build)
        yield
        tasks.cancel_scope.cancel()


async def home(request: Request) -> PlainTextResponse:
    return PlainTextResponse("The builds are at /builds/mcp.\n")


# Behind a name of its own, the app is told it: server.asgi(allowed_hosts=["ci.example.org"]).
app = Starlette(routes=[Route("/", home), Mount("/builds", server.asgi())], lifespan=lifespan)

if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8765
    # uvicorn waits for open streams before it ends; so long at the most.
    uvicorn.run(app, port=port, log_level="warning", timeout_graceful_shutdown=2)
