"""`sr-push`: a streamable resource; `notifications/resources/updated` with the delta inside (SR-6.3).

The first read gives the content and a cursor. A delta that does not continue what the reader has is not
applied, and a read since its cursor gives what is missing. After a cut it listens since its cursor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamres.carriers.source import URI
from streamres.carriers.streamable import TRAITS, Copy, serving_store
from streamres.client import Client, Updated
from streamres.errors import ConnectionLost

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp

    from streamres.carriers.carrier import Seen
    from streamres.carriers.content import Kind
    from streamres.carriers.reach import Reach
    from streamres.carriers.source import Source


class SrPush:
    """Deltas, pushed."""

    id = "sr-push"
    traits = TRAITS

    def serve(self, source: Source) -> AbstractAsyncContextManager[ASGIApp]:
        """Serves the work as a resource."""
        return serving_store(source)

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        """Reads once, then listens."""
        async with Client(reach.url) as client:
            mine = Copy(client, kind)
            while True:
                try:
                    if mine.cursor is None:
                        yield await mine.read()
                    async with client.listen({URI: mine.cursor}, deliver="delta") as events:
                        async for event in events:
                            if isinstance(event, Updated):
                                whole = mine.take(event.update) or event.cursor == mine.cursor
                                yield mine.seen if whole else await mine.read()
                    if mine.sealed:  # and so the server has ended the subscription
                        return
                except ConnectionLost:
                    pass
                await reach.reconnect()


CARRIER = SrPush()
