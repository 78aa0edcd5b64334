"""A server that takes uploads, over a store whose content a test looks at and whose appends it can hold up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from server.wire import URI

from streamres import Limits, Server
from streamres.model import Head
from streamres.store import MemoryStore

TEXT = "compiling \N{EURO SIGN} \N{GRINNING FACE}\n".encode()

NOBODY = "http://127.0.0.1:1/mcp"


class GatedStore(MemoryStore):
    """Makes appends only while its gate is open; knows what it was asked for."""

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits)
        self.gate = anyio.Event()
        self.asked: list[dict[str, Any]] = []
        self._news = anyio.Event()

    async def append(self, uri: str, data: bytes, **rest: Any) -> Head:  # type: ignore[override]  # noqa: ANN401
        self.asked.append({**rest, "data": data})
        self._news.set()
        await self.gate.wait()
        return await super().append(uri, data, **rest)

    async def until_asked(self, count: int) -> None:
        """Returns once it was asked for so many appends."""
        with anyio.fail_after(5):
            while len(self.asked) < count:
                self._news = anyio.Event()
                await self._news.wait()


class Served:
    def __init__(self, url: str, store: MemoryStore) -> None:
        self.url, self.store = url, store

    async def content(self) -> bytes:
        return b"".join((await self.store.read(URI)).step.slices())

    async def head(self) -> Head:
        return (await self.store.entry(URI)).head


@asynccontextmanager
async def serving(store: MemoryStore | None = None) -> AsyncIterator[Served]:
    store = store or MemoryStore()
    async with Server("tested", store=store).serve(port=0, upload=True) as url:
        with anyio.fail_after(20):
            yield Served(url, store)
