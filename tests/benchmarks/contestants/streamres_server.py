"""streamres as a contestant: its own `Server.serve`, with nothing changed."""

from __future__ import annotations

import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import anyio

from benchmarks.control import listening_socket, obey
from benchmarks.documents import GROWTH, ROW_BYTES, document_patch, document_row
from benchmarks.text import LINE
from streamres import Resource, Server
from streamres.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from streamres.store import Store

_PAUSE_S: Final = 0.002
"""For a reader to take what was sent."""


class Streamres:
    """A server with the memory store, or another."""

    def __init__(self, store: Store | None = None) -> None:
        self.server = Server("benchmark", store=store)
        self._resources: dict[str, Resource] = {}

    async def create(self, uri: str) -> None:
        self._resources[uri] = await self.server.create(uri)

    async def append(self, uri: str, text: str) -> str:
        resource = self._resources[uri]
        await resource.append(text)
        return resource.cursor

    async def publish(self, uri: str) -> None:
        await self._resources[uri].append(LINE)

    async def seal(self, uri: str) -> None:
        await self._resources[uri].seal()

    async def document(self, uri: str, size: int) -> str:
        rows = [document_row(number) for number in range(size // ROW_BYTES)]
        value = {"rows": rows, "count": 0, "text": ""}
        self._resources[uri] = await self.server.create(uri, kind="json", value=value)
        return self._resources[uri].cursor

    async def patch(self, uri: str, begin: int, count: int, burst: int) -> dict[str, Any]:
        resource = self._resources[uri]
        size = 0
        for number in range(begin, begin + count):
            operations = document_patch(number)
            size += len(json.dumps(operations, separators=(",", ":")))
            await resource.patch(operations)
            if number % burst == burst - 1:
                await anyio.sleep(_PAUSE_S)
        return {"cursor": resource.cursor, "bytes": size}

    async def grow(self, uri: str, count: int) -> str:
        for _ in range(count):
            await self._resources[uri].patch([GROWTH])
        return self._resources[uri].cursor


async def main() -> None:
    async with AsyncExitStack() as stack:
        store = None
        if "--file" in sys.argv:
            folder = stack.enter_context(TemporaryDirectory(prefix="streamres-"))
            store = await stack.enter_async_context(SqliteStore.open(Path(folder) / "store.db"))
        contestant = Streamres(store)
        sock = listening_socket()
        port = sock.getsockname()[1]
        await stack.enter_async_context(contestant.server.serve(sock=sock, upload=store is not None))
        await obey(contestant, port)


if __name__ == "__main__":
    anyio.run(main, backend_options={"use_uvloop": True})
