"""Run by itself: a server over stdio with a resource whose text is the second argument."""

from __future__ import annotations

import sys

import anyio

from streamres import Server


async def main(uri: str, text: str) -> None:
    server = Server("tested")
    log = await server.create(uri)
    await log.append(text)
    await server.serve_stdio()


anyio.run(main, *sys.argv[1:])
