"""The client that people use: list, read, listen, follow."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, Self

from streamres.client.connection import Connection, Timeouts
from streamres.client.follow import PAGE_BYTES, follow
from streamres.client.wire import ListChanged, Listed, Updated, acknowledged, list_page, read_update, updated
from streamres.errors import ConnectionLost, ProtocolError
from streamres.protocol import words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from types import TracebackType

    from streamres.client.backoff import FaultHook
    from streamres.model import Update


class Subscription:
    """An open subscription: iterate over it for its events, until the server ends it in order."""

    def __init__(self, cursors: Mapping[str, str | None], messages: AsyncIterator[dict[str, Any]]) -> None:
        self.cursors = cursors
        """Where each honoured stream stood at the beginning; None for a resource that was not there."""
        self._messages = messages

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Updated | ListChanged:
        """Gives the next event.

        Raises:
            ConnectionLost: the stream was cut.
            ProtocolError: a notification is malformed.
        """
        async for message in self._messages:
            match message.get("method"):
                case words.UPDATED:
                    return updated(message.get("params") or {})
                case words.LIST_CHANGED:
                    return ListChanged()
                case _:
                    pass  # P4: what is not known is not for us
        raise StopAsyncIteration


class Client:
    """A client of one MCP server that offers streamable resources.

    `url` is the MCP endpoint; of a URL without a path, `/mcp`. Use it as an async context manager.
    """

    def __init__(self, url: str, *, timeouts: Timeouts | None = None) -> None:
        self._connection = Connection(url, timeouts or Timeouts())
        self.url = str(self._connection.url)
        """The endpoint in full."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    async def discover(self) -> dict[str, Any]:
        """Gives the result of `server/discover` as it is."""
        return await self._connection.request(words.DISCOVER, {})

    async def list(self) -> list[Listed]:
        """Gives every resource, oldest first."""
        entries: list[Listed] = []
        params: dict[str, Any] = {}
        while True:
            result = await self._connection.request(words.LIST, params)
            page, cursor = list_page(result)
            entries += page
            if cursor is None:
                return entries
            params = {"cursor": cursor}

    async def read(
        self,
        uri: str,
        since: str | None = None,
        *,
        max_bytes: int | None = None,
        wait_ms: int | None = None,
        tail_bytes: int | None = None,
    ) -> Update:
        """Gives the delta after the cursor `since`, or a snapshot (section 5).

        `max_bytes` bounds the text, `wait_ms` lets the server wait for news, `tail_bytes` asks for the end only.

        Raises:
            ResourceNotFound, CursorInvalid, RpcError: the server refused.
            ConnectionLost: no answer came.
        """
        asked = {"since": since, "maxBytes": max_bytes, "waitMs": wait_ms, "tailBytes": tail_bytes}
        params = {"uri": uri, **{name: value for name, value in asked.items() if value is not None}}
        result = await self._connection.request(words.READ, params, wait_s=(wait_ms or 0) / 1000)
        return read_update(uri, result)

    @asynccontextmanager
    async def listen(
        self,
        streams: Mapping[str, str | None] | None = None,
        *,
        deliver: Literal["cursor", "delta"] = "cursor",
        list_changed: bool = False,
    ) -> AsyncIterator[Subscription]:
        """Opens a subscription (section 7).

        `streams` maps each URI to the cursor since which its reader needs to know, or None for from now on.

        Raises:
            CursorInvalid, RpcError: the server refused.
            ConnectionLost: the server cannot be reached, or the stream was cut.
        """
        notifications: dict[str, Any] = {
            "resourceStreams": {
                uri: {"deliver": deliver} if since is None else {"deliver": deliver, "since": since}
                for uri, since in (streams or {}).items()
            }
        }
        if list_changed:
            notifications["resourcesListChanged"] = True
        async with self._connection.stream(words.LISTEN, {"notifications": notifications}) as messages:
            first = await anext(messages, None)
            if first is None:
                raise ConnectionLost("the subscription ended before it began")
            if first.get("method") != words.ACKNOWLEDGED:
                raise ProtocolError("a subscription began without its acknowledgement")
            yield Subscription(acknowledged(first.get("params") or {}), messages)

    def follow(
        self,
        uri: str,
        since: str | None = None,
        *,
        tail_bytes: int | None = None,
        page_bytes: int = PAGE_BYTES,
        on_fault: FaultHook | None = None,
    ) -> AsyncIterator[Update]:
        """Gives every piece of the resource's text once, until its seal, across any fault.

        Starts at the cursor `since`, at the last `tail_bytes`, or at the beginning. After a fault it waits, longer
        each time, and goes on from where it was; `on_fault` is told of each. Only a seal ends it.

        Raises:
            ResourceNotFound: there is no such resource (any more).
            CursorInvalid: `since` is not a cursor of it.
            DigestMismatch: what was handed over is not what the producer sealed.
        """
        return follow(self, uri, since, tail_bytes=tail_bytes, page_bytes=page_bytes, on_fault=on_fault)
