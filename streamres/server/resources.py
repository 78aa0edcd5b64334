"""`resources/list`, `resources/templates/list` and `resources/read` (section 5)."""

from __future__ import annotations

import binascii
from base64 import b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Final

import anyio

from streamres.errors import InvalidParams, ResourceNotFound
from streamres.model import Patch, decode_cursor
from streamres.protocol.binding import binding_of, read_request, uri_request
from streamres.protocol.messages import encoded_patch
from streamres.server.outcome import LongReply, Pending, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamres.limits import Limits
    from streamres.model import Entry, Position, Reading
    from streamres.protocol.binding import ReadRequest
    from streamres.protocol.jsonrpc import Request
    from streamres.protocol.messages import Halves, Messages
    from streamres.protocol.text import TextEncoder
    from streamres.server.closing import Closing
    from streamres.store import Store

_JOINED_BYTES: Final = 256 * 1024
"""Text up to this size is sent in one piece with its message: one system call, and a length known beforehand."""


_NOT_A_PAGE: Final = InvalidParams("params.cursor is not the nextCursor of a list")


class Resources:
    """The three methods over one store."""

    def __init__(
        self, store: Store, messages: Messages, encoder: TextEncoder, limits: Limits, closing: Closing
    ) -> None:
        self._store = store
        self._messages = messages
        self._encoder = encoder
        self._limits = limits
        self._closing = closing

    async def list(self, request: Request) -> Reply:
        """Gives one page, oldest resource first; the page's cursor is the last URI on it."""
        page, next_cursor = await self._page(request)
        binding = binding_of(request.params)
        return Reply(self._messages.resource_list(request.id, page, next_cursor=next_cursor, binding=binding))

    async def templates(self, request: Request) -> Reply:
        """Gives one page of the templates by which any client reads since a cursor (SR-10.4)."""
        page, next_cursor = await self._page(request)
        return Reply(self._messages.template_list(request.id, page, next_cursor=next_cursor))

    async def _page(self, request: Request) -> tuple[Sequence[Entry], str | None]:
        after = _page_start(request.params.get("cursor"))
        if after is not None:
            await self._demand(after)
        limit = self._limits.page_entries
        entries = await self._store.list(after=after, limit=limit + 1)
        page = entries[:limit]
        return page, _page_cursor(page[-1].description.uri) if len(entries) > limit else None

    async def read(self, request: Request) -> Reply | LongReply | Pending:
        """Gives a snapshot or the delta since a cursor, at once or when there is news (SR-5.4)."""
        uri = request.params.get("uri")
        if not isinstance(uri, str):
            raise InvalidParams("params.uri is a string")
        try:
            entry, asked = await self._store.entry(uri), read_request(request.params)
        except ResourceNotFound:
            expanded = uri_request(uri)
            if expanded is None:
                raise
            entry, asked = await self._expanded(uri, *expanded)
        of = entry.description.uri
        since = None if asked.since is None else decode_cursor(asked.since, of)
        if since is not None and since == entry.head.position and entry.head.state == "open" and asked.wait_ms:
            return Pending(lambda: self._read_later(request, entry, asked, since))
        return self._answer(request, entry, await self._read(of, asked, since), asked)

    async def _expanded(self, uri: str, of: str, asked: ReadRequest) -> tuple[Entry, ReadRequest]:
        try:
            return await self._store.entry(of), asked
        except ResourceNotFound as exc:
            raise ResourceNotFound(uri) from exc

    async def _demand(self, uri: str) -> None:
        """Refuses a list cursor of another life of the server: what follows it is not known."""
        try:
            await self._store.entry(uri)
        except ResourceNotFound as exc:
            raise _NOT_A_PAGE from exc

    async def _read_later(
        self, request: Request, entry: Entry, asked: ReadRequest, since: Position
    ) -> Reply | LongReply:
        uri = entry.description.uri
        with self._store.watch([uri]) as watch, self._closing.waking(watch):
            # Only now that nothing is missed: a commit before the watch shows in this entry.
            entry = await self._store.entry(uri)
            if since == entry.head.position and not self._closing.begun:
                with anyio.move_on_after(min(asked.wait_ms, self._limits.wait_ms) / 1000):
                    await watch.wait()
        return self._answer(request, entry, await self._read(uri, asked, since), asked)

    async def _read(self, uri: str, asked: ReadRequest, since: Position | None) -> Reading:
        max_bytes = None if asked.max_bytes is None else min(asked.max_bytes, self._limits.read_bytes)
        return await self._store.read(
            uri, since, max_bytes=max_bytes, tail_bytes=asked.tail_bytes, append_op=asked.append_op
        )

    def _answer(self, request: Request, entry: Entry, reading: Reading, asked: ReadRequest) -> Reply | LongReply:
        halves = self._messages.read(
            request.id, entry, reading, binding=asked.binding, asked=request.params["uri"]
        )
        before, after = halves
        uri, step = entry.description.uri, reading.step
        if isinstance(step, Patch):
            return Reply(b"".join((before, encoded_patch(step, asked.binding), after)))
        if step.size <= _JOINED_BYTES:
            return Reply(b"".join((before, self._encoder.joined(uri, step), after)))
        return LongReply(_around(halves, self._encoder.pieces(uri, step)))


def _around(halves: Halves, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield halves[0]
    yield from pieces
    yield halves[1]


def _page_cursor(uri: str) -> str:
    return urlsafe_b64encode(uri.encode("utf-8")).decode("ascii")


def _page_start(cursor: object) -> str | None:
    if cursor is None:
        return None
    try:
        if isinstance(cursor, str):
            return b64decode(cursor, altchars=b"-_", validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        pass
    raise _NOT_A_PAGE
