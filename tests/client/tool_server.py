"""Run by itself: a server over stdio with tools that a test can look into."""

from __future__ import annotations

import anyio

from streamres import Server
from streamres.tools import Context

server = Server("tested")
cancelled = 0


@server.tool()
async def wait() -> None:
    global cancelled
    try:
        await anyio.sleep_forever()
    finally:
        cancelled += 1


@server.tool()
async def count_cancelled() -> int:
    while not cancelled:
        await anyio.sleep(0.01)
    return cancelled


@server.tool()
async def say(context: Context, name: str, times: int) -> str:
    log = await context.text("log")
    for number in range(times):
        await log.append(f"{name} {number}\n")
        await context.progress(number + 1, message=name)
        await anyio.lowlevel.checkpoint()
    return name


anyio.run(server.serve_stdio)
