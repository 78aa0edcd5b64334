"""One real server for the tests of a module, in which faults are planted, and the check run against it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2

from streamres import Limits, Server
from streamres.check.limits import Waits
from streamres.check.runner import check
from streamres.check.session import Session
from streamres.check.stage import Stage, discover
from streamres.check.writer import Upload
from streamres.transport import bind, origin_of, serving

from .tampering import Fault, Tampered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from streamres.check import Finding
    from streamres.check.content import Kind
    from streamres.store import Store

QUICK = Waits(soon_s=8, quiet_s=0.15, hold_s=0.3, early_s=0.1, patience_s=0.3)
IMPATIENT = Waits(soon_s=0.7, quiet_s=0.15, hold_s=0.3, early_s=0.1, patience_s=0.3)


class StoreWriter(Upload):
    """Uploads, and does in process what no endpoint does."""

    def __init__(self, session: Session, url: httpx2.URL, store: Store) -> None:
        super().__init__(session, url, {})
        self._store = store

    async def replace(self, uri: str, kind: Kind, content: bytes) -> None:
        await self._store.replace(uri, content)

    async def compact(self, uri: str, kind: Kind) -> None:
        await self._store.compact(uri, (await self._store.entry(uri)).head.position.revision)


class Site:
    """A server and its fault."""

    def __init__(self, server: Server, app: Tampered, origin: str) -> None:
        self.server, self.app, self.origin = server, app, origin

    async def check(
        self,
        fault: Fault | None = None,
        *,
        only: Sequence[str] = (),
        waits: Waits = QUICK,
        forbidden: Sequence[str] = (),
        replica: Session | None = None,
        kinds: Sequence[Kind] | None = None,
    ) -> dict[str, Finding]:
        """What the check finds while a fault is planted; `kinds` are those that the server is taken to offer."""
        session = Session(httpx2.URL(f"{self.origin}/mcp"), waits)
        try:
            settings = await discover(session)
            assert settings is not None
            if kinds is not None:
                settings = {**settings, "kinds": list(kinds)}
            writer = StoreWriter(session, httpx2.URL(f"{self.origin}/upload"), self.server.store)
            stage = Stage(session, writer, waits, settings, forbidden=forbidden, replica=replica)
            self.app.fault = fault or Fault()
            return {finding.clause: finding for finding in await check(stage, only=only)}
        finally:
            self.app.fault = Fault()
            await session.close()


@asynccontextmanager
async def tampered_site() -> AsyncIterator[Site]:
    server = Server("checked")
    app = Tampered(server.asgi(upload=True))
    sock = bind("127.0.0.1", 0)
    async with serving(app, sock, close=server.close, limits=Limits()):
        yield Site(server, app, origin_of(sock))
