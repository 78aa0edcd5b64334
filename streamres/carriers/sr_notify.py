"""`sr-notify`: a streamable resource; `notifications/resources/updated` with a cursor, then a read since (SR-6.1).

What was missed or came twice changes nothing: the next notification, or the seal's, leads to a read since the
reader's own cursor. After a cut it listens since that.
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


class SrNotify:
    """Cursors, pushed; deltas, read."""

    id = "sr-notify"
    traits = TRAITS

    def serve(self, source: Source) -> AbstractAsyncContextManager[ASGIApp]:
        """Serves the work as a resource."""
        return serving_store(source)

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        """Reads once, then at each notification."""
        async with Client(reach.url) as client:
            mine = Copy(client, kind)
            while True:
                try:
                    if mine.cursor is None:
                        yield await mine.read()
                    async with client.listen({URI: mine.cursor}) as events:
                        async for event in events:
                            if isinstance(event, Updated) and event.cursor != mine.cursor:
                                yield await mine.read()
                    if mine.sealed:  # and so the server has ended the subscription
                        return
                except ConnectionLost:
                    pass
                await reach.reconnect()


CARRIER = SrNotify()
