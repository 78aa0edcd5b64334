"""`sr-longpoll`: a streamable resource; reads since with `waitMs`, one after another (SR-5.4).

No stream is held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streamres.carriers.streamable import TRAITS, Copy, serving_store
from streamres.client import Client
from streamres.errors import ConnectionLost

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp

    from streamres.carriers.carrier import Seen
    from streamres.carriers.content import Kind
    from streamres.carriers.reach import Reach
    from streamres.carriers.source import Source

WAIT_MS: Final = 25_000


class SrLongpoll:
    """Deltas, each the answer to a read that waits for it."""

    id = "sr-longpoll"
    traits = TRAITS

    def serve(self, source: Source) -> AbstractAsyncContextManager[ASGIApp]:
        """Serves the work as a resource."""
        return serving_store(source)

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        """Reads until the seal."""
        async with Client(reach.url) as client:
            mine = Copy(client, kind)
            while True:
                try:
                    seen = await mine.read(wait_ms=None if mine.cursor is None else WAIT_MS)
                    yield seen
                    if seen.ended:
                        return
                except ConnectionLost:
                    await reach.reconnect()


CARRIER = SrLongpoll()
