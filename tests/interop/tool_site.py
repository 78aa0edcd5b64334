"""A server with tools for the official clients. Run by itself it serves them over stdio, and nothing waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Final

import anyio
from pydantic import BaseModel, Field

from streamres import Limits, Server
from streamres.tools import Context, Elicit

TASKS: Final = "io.modelcontextprotocol/tasks"

LINES: Final = ("compiling é\u2028\n", "linking\n")
"""What `build` and `deploy` put out: the first before they wait, the second after."""

FORM: Final = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Sum(BaseModel):
    total: int


class Site:
    """A server, and the hold on what its tools wait for."""

    def __init__(self) -> None:
        self.server = Server("tested", limits=Limits(task_ttl_s=60.0))
        self.go_on = anyio.Event()
        self.waits = anyio.Event()
        """Whether `build` has put out its first line."""
        self._offer()

    def _offer(self) -> None:
        @self.server.tool()
        async def add(a: int, b: int = 1) -> Sum:
            """Adds two numbers."""
            return Sum(total=a + b)

        @self.server.tool(streaming=True)
        async def build(context: Context) -> str:
            """Builds, with a log that grows meanwhile."""
            log = await context.text("log")
            await log.append(LINES[0])
            await context.progress(1, 2, "compiling")
            self.waits.set()
            await self.go_on.wait()
            await log.append(LINES[1])
            await context.progress(2, 2, "linking")
            return "built"

        @self.server.tool(task_after_s=0)
        async def deploy(context: Context) -> str:
            """Deploys as a task, and asks who does it."""
            log = await context.text("log")
            await log.append(LINES[0])
            who = await context.ask("who", Elicit(message="Who deploys?", schema=FORM))
            await log.append(LINES[1])
            return f"deployed by {who['content']['name']}"

        @self.server.tool()
        async def greet(context: Context) -> str:
            """Asks for a name, and greets it."""
            who = await context.ask("who", Elicit(message="Who is there?", schema=FORM))
            return f"Hello, {who['content']['name']}!"

        @self.server.tool()
        async def locate(
            region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
        ) -> str:
            """Says a region, which a header repeats."""
            return f"in {region}"


@asynccontextmanager
async def site() -> AsyncIterator[tuple[Site, str]]:
    """A site over HTTP, and its URL."""
    made = Site()
    failure: Exception | None = None
    async with made.server.serve(port=0) as url:
        try:
            yield made, url
        except Exception as exc:  # a test that fails reads as itself, and its server ends in order
            failure = exc
    if failure is not None:
        raise failure


async def main() -> None:
    made = Site()
    made.go_on.set()
    await made.server.serve_stdio()


if __name__ == "__main__":
    anyio.run(main)
