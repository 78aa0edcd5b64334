"""Streamable resources on a server built with the official Python SDK or with FastMCP 4 (extra `mcp`).

`attach` adds one middleware to the SDK's chain. What concerns a resource of the store is answered there, by the
methods of our own server; all else goes on to the handlers that the server has. What a middleware answers, the SDK
sends as it is; what a handler answers, it cuts down to the members that it knows. So `fields` works beside `meta`
and `uri`.

Clients of the older versions list and read, but are not told of changes (SR-10.9.a): when their stream begins, on
which all that they missed is to be told, the SDK lets nobody see.
"""

from __future__ import annotations

import json
import logging
import re
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from mcp.server import Server
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import Notification
from pydantic import BaseModel

from streamres.errors import InvalidRequest, ResourceNotFound, StoreError, StreamresError
from streamres.limits import Limits
from streamres.model import KINDS
from streamres.protocol import words
from streamres.protocol.error_codes import code_of, data_of
from streamres.protocol.jsonrpc import Request
from streamres.protocol.messages import Messages
from streamres.protocol.text import TextEncoder
from streamres.server.closing import Closing
from streamres.server.outcome import LongReply, Pending
from streamres.server.resources import Resources
from streamres.server.subscriptions import Subscriptions
from streamres.store import Watch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp_types import RequestId, ServerNotification

    from streamres.server.outcome import Reply, Stream
    from streamres.store import Store

    Context = ServerRequestContext[Any, Any]

logger = logging.getLogger("streamres.integrations")

_OURS: Final = "dev.streamres/list:"
"""How the cursors of those pages of a list begin that come after the server's own."""

_EXPANSION: Final = re.compile(r"[?&](?:since|maxBytes)=")
_OF_RESOURCES: Final = frozenset({"resourcesListChanged", "resourceStreams", "resourceSubscriptions"})


def attach(server: object, store: Store, *, limits: Limits | None = None) -> Attachment:
    """Serves the resources of `store` on `server`: the SDK's `Server` or `MCPServer`, or FastMCP's.

    Middleware that was added before sees these requests too; FastMCP's own sees none of their reads and lists.

    Raises:
        TypeError: it is no such server.
        ValueError: it has a store already.
    """
    low_level = _low_level(server)
    if any(isinstance(middleware, Attachment) for middleware in low_level.middleware):
        raise ValueError("this server has a store already; put all resources into that one")
    attachment = Attachment(low_level, store, limits or Limits())
    low_level.middleware.append(attachment)
    return attachment


def _low_level(server: object) -> Server[Any]:
    # Neither MCPServer nor FastMCP has a public name for the server that it is built on.
    for found in (server, getattr(server, "_lowlevel_server", None), getattr(server, "_mcp_server", None)):
        if isinstance(found, Server):
            return found
    raise TypeError(f"a {type(server).__name__} is neither a Server or MCPServer of the SDK nor a FastMCP")


class Attachment:
    """The middleware that answers for the resources of one store."""

    def __init__(self, server: Server[Any], store: Store, limits: Limits) -> None:
        messages, encoder = Messages(name=server.name, version=server.version), TextEncoder()
        self._server = server
        self._store = store
        self._closing = Closing()
        self._resources = Resources(store, messages, encoder, limits, self._closing)
        self._subscriptions = Subscriptions(store, messages, encoder, limits, self._closing)
        self._settings = {"kinds": KINDS, "maxWaitMs": limits.wait_ms, "maxBytes": limits.read_bytes}

    def close(self) -> None:
        """Ends every subscription with its result and every wait with its answer.

        Call it before the ASGI server shuts down: it waits for open streams.
        """
        self._closing.begin()

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answers a request for a resource of the store, and hands on any other."""
        if ctx.request_id is None:
            return await call_next(ctx)
        request = Request(ctx.request_id, ctx.method, dict(ctx.params or {}))
        match ctx.method:
            case words.DISCOVER | words.INITIALIZE:
                return self._offered(ctx.method, _members(await call_next(ctx)))
            case words.LIST:
                return await self._list(ctx, call_next, request, "resources", self._resources.list)
            case words.TEMPLATES:
                return await self._list(ctx, call_next, request, "resourceTemplates", self._resources.templates)
            case words.READ:
                return await self._read(ctx, call_next, request)
            case words.LISTEN if ctx.protocol_version == words.VERSION:
                return await self._listen(ctx, call_next, request)
            case words.SUBSCRIBE if self._has_own(ctx.method):
                await self._refuse_to_subscribe(request.params.get("uri"))
        return await call_next(ctx)

    def _has_own(self, method: str) -> bool:
        return self._server.get_request_handler(method) is not None

    def _offered(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        capabilities = result["capabilities"]
        resources = capabilities.get("resources") or {}
        if method == words.INITIALIZE:
            return {**result, "capabilities": {**capabilities, "resources": resources}}
        offered = {
            "resources": {**resources, "subscribe": True, "listChanged": True},
            "extensions": {**(capabilities.get("extensions") or {}), words.EXTENSION: self._settings},
        }
        return {**result, "capabilities": {**capabilities, **offered}}

    async def _list(
        self,
        ctx: Context,
        call_next: CallNext,
        request: Request,
        kind: str,
        list_ours: Callable[[Request], Awaitable[Reply]],
    ) -> dict[str, Any]:
        """Gives the server's own pages, and on the last of them and on pages after it ours."""
        own: dict[str, Any] = {}
        match request.params:
            case {"cursor": str(cursor)} if cursor.startswith(_OURS):
                request.params["cursor"] = cursor.removeprefix(_OURS)
            case _ if self._has_own(ctx.method):
                own = _members(await call_next(ctx))
                if own.get("nextCursor") is not None:
                    return own
                request.params.pop("cursor", None)
        with _as_mcp_errors():
            ours = _result((await list_ours(request)).body)
        if "nextCursor" in ours:
            ours["nextCursor"] = _OURS + ours["nextCursor"]
        entries = [*own.get(kind, ()), *ours[kind]]
        return {**own, **ours, kind: entries, "_meta": {**ours["_meta"], **own.get("_meta", {})}}

    async def _read(self, ctx: Context, call_next: CallNext, request: Request) -> HandlerResult:
        uri = request.params.get("uri")
        if self._has_own(ctx.method) and not (isinstance(uri, str) and await self._reads(uri)):
            return await call_next(ctx)
        with _as_mcp_errors():
            outcome = await self._resources.read(request)
            if isinstance(outcome, Pending):
                outcome = await outcome.answer()
        return _result(b"".join(outcome.pieces) if isinstance(outcome, LongReply) else outcome.body)

    async def _reads(self, uri: str) -> bool:
        """Whether the URI, or the one that it was expanded from, is one of ours."""
        return await self._has(uri) or await self._has(_EXPANSION.split(uri, maxsplit=1)[0])

    async def _has(self, uri: str) -> bool:
        with _as_mcp_errors():
            try:
                await self._store.entry(uri)
            except ResourceNotFound:
                return False
            return True

    async def _refuse_to_subscribe(self, uri: object) -> None:
        if isinstance(uri, str) and await self._has(uri):
            with _as_mcp_errors():
                raise InvalidRequest(
                    f"changes are told from {words.VERSION} on: {words.LISTEN}, or {words.READ} with waitMs"
                )

    async def _listen(self, ctx: Context, call_next: CallNext, request: Request) -> HandlerResult:
        asked = request.params.get("notifications")
        filters = asked if isinstance(asked, dict) else {}
        ours = not _OF_RESOURCES.isdisjoint(filters) or words.STREAM_META in request.meta
        if not ours and filters and self._has_own(ctx.method):
            return await call_next(ctx)
        with _as_mcp_errors():
            stream = await self._subscriptions.listen(request)
        # What is not there yet can become either's: both watch it.
        plain = [uri for uri in filters.get("resourceSubscriptions") or () if not await self._has(uri)]
        rest = {**filters, "resourceStreams": None, "resourceSubscriptions": plain}
        rest = {name: value for name, value in rest.items() if value}
        if not rest or not self._has_own(ctx.method):
            return await _run(stream, ctx)
        return await self._run_both(
            stream, ctx, replace(ctx, params={**request.params, "notifications": rest}), call_next
        )

    async def _run_both(self, ours: Stream, ctx: Context, theirs: Context, call_next: CallNext) -> HandlerResult:
        """Runs two subscriptions on one stream, which ends with the server's own or by `close`."""
        own = _OwnSession(ctx.session)
        result: HandlerResult = None

        async def run_own() -> None:
            nonlocal result
            result = await call_next(replace(theirs, session=own))
            group.cancel_scope.cancel()

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(run_own)
                await own.began.wait()
                ended = await _run(ours, ctx, own)
                # Where all that is ours is sealed, the server can have more to say.
                with self._closing.waking(watch := Watch()):
                    if not self._closing.begun:
                        await watch.wait()
                result = ended
                group.cancel_scope.cancel()
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return result


class _OwnSession(ServerSession):
    """What the server's own handler of a subscription sends through; its acknowledgement goes with ours."""

    def __init__(self, session: ServerSession) -> None:
        vars(self).update(vars(session))
        self.honoured: dict[str, Any] = {}
        self.began = anyio.Event()
        self.acknowledged = anyio.Event()

    async def send_notification(
        self, notification: ServerNotification, related_request_id: RequestId | None = None
    ) -> None:
        """Sends it, unless it is the acknowledgement, after which all else waits for ours."""
        if notification.method != words.ACKNOWLEDGED:
            await super().send_notification(notification, related_request_id)
            return
        self.honoured = _members(notification)["params"]["notifications"]
        self.began.set()
        await self.acknowledged.wait()


async def _run(stream: Stream, ctx: Context, own: _OwnSession | None = None) -> dict[str, Any]:
    """Sends the notifications of a subscription, each when the peer took the one before, and gives its result."""
    result: dict[str, Any] = {}

    async def write(message: bytes) -> None:
        members = json.loads(message)
        if "result" in members:
            result.update(members["result"])
            return
        params = members["params"]
        if own is not None and not own.acknowledged.is_set():
            params["notifications"] = {**own.honoured, **params["notifications"]}
        notification = Notification[dict[str, Any], str](method=members["method"], params=params)
        # The SDK's own types for it would drop the members that they do not know.
        await ctx.session.send_notification(cast("ServerNotification", notification), ctx.request_id)
        if own is not None:
            own.acknowledged.set()

    with _as_mcp_errors():
        await stream.run(write)
    return result


def _result(message: bytes) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(message)["result"]
    return result


def _members(given: HandlerResult) -> dict[str, Any]:
    if isinstance(given, BaseModel):
        return given.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dict(given or {})


@contextmanager
def _as_mcp_errors() -> Iterator[None]:
    try:
        yield
    except StreamresError as exc:
        if isinstance(exc, StoreError):
            logger.error("the store failed: %s", exc, extra={"event": "store_error"})
        raise MCPError(code_of(exc), str(exc), data_of(exc)) from exc
