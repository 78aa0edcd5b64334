"""Follows one resource to its seal: read to the head, listen, and after any fault read since the cursor again.

C1 positions strictly increase, and the whole is checked against the seal's digest
C2 a cursor is taken for reached once its content was handed over
C3 any fault is repaired by a read since, with at most one snapshot
C4 a cut without a seal is never an end
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streamres.client.backoff import Backoff
from streamres.client.wire import ListChanged, ToolsChanged, Updated
from streamres.errors import ConnectionLost, ProtocolError
from streamres.model import Reassembler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from streamres.client.backoff import FaultHook
    from streamres.client.client import Client
    from streamres.model import Update

PAGE_BYTES: Final = 2 * 1024 * 1024
"""Most text in one read while catching up: few round trips, little memory at both ends."""

_LEAST_PAGE_BYTES: Final = 4096


class _Pages:
    """How much to ask for at once: less after a fault, so that a link which is cut often still carries a page."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.size = most

    def carried(self) -> None:
        self.size = min(self.size * 2, self._most)

    def cut(self) -> None:
        self.size = max(self.size // 4, min(_LEAST_PAGE_BYTES, self._most))


async def follow(
    client: Client,
    uri: str,
    since: str | None,
    *,
    tail_bytes: int | None,
    page_bytes: int,
    on_fault: FaultHook | None,
) -> AsyncIterator[Update]:
    """Gives every piece of the resource's text once; see `Client.follow`."""
    reader = Reassembler(uri, since=since)
    pages = _Pages(page_bytes)
    backoff = Backoff(on_fault)
    while True:
        try:
            async for update in _catch_up(client, reader, tail_bytes, pages):
                backoff.reset()
                yield update
            if reader.sealed:
                return
            async with client.listen({uri: reader.cursor}, deliver="delta") as subscription:
                if uri in subscription.cursors and subscription.cursors[uri] is None:
                    # Gone since it was read, or another server: reading says which.
                    async for update in _catch_up(client, reader, None, pages):
                        yield update
                async for event in subscription:
                    backoff.reset()
                    async for update in _take(client, reader, event, pages):
                        yield update
                        if update.sealed:
                            return
            raise ConnectionLost("the server ended the subscription")
        except ConnectionLost as exc:
            pages.cut()
            await backoff.wait(exc)


async def _take(
    client: Client, reader: Reassembler, event: Updated | ListChanged | ToolsChanged, pages: _Pages
) -> AsyncIterator[Update]:
    """Applies a notification, or reads what it only announces."""
    if not isinstance(event, Updated) or event.uri != reader.uri:
        return
    outcome = "gap" if event.update is None else reader.delta(event.update)
    if outcome == "applied" and event.update is not None:
        yield reader.with_value(event.update)
    elif outcome == "gap" and event.cursor != reader.cursor:
        async for update in _catch_up(client, reader, None, pages):
            yield update


async def _catch_up(
    client: Client, reader: Reassembler, tail_bytes: int | None, pages: _Pages
) -> AsyncIterator[Update]:
    """Reads in pages from the reader's cursor to the head."""
    while True:
        before = reader.cursor
        first_tail = tail_bytes if before is None else None
        page = await client.read(reader.uri, before, max_bytes=pages.size, tail_bytes=first_tail)
        pages.carried()
        if page.since is None:
            yield reader.snapshot(page)
        else:
            match reader.delta(page):
                case "applied":
                    yield reader.with_value(page)
                case "gap":
                    raise ProtocolError(f"asked since {before!r}, the server gave a delta from {page.since!r}")
        if not page.more:
            return
        if reader.cursor == before:
            raise ProtocolError("the server says there is more and gives nothing")
