"""Streamable HTTP of MCP 2026-07-28, and of the older era, as one ASGI endpoint. Knows no method names.

T1 a peer that is gone cancels its request, on a quiet stream too: `receive()` is watched
T2 a stream is never quiet for longer than `Limits.ping_s`
T3 what is buffered for a peer is bounded: the server's send buffer and one message
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel

from streamres.errors import HeaderMismatch, InvalidRequest, LimitExceeded, SessionNotFound
from streamres.protocol import jsonrpc
from streamres.protocol.envelope import RoutingHeaders, session_of
from streamres.protocol.error_codes import HTTP_STATUS, code_of, data_of
from streamres.protocol.words import SESSION_HEADER
from streamres.server import Accepted, Begun, Cancel, LongReply, Pending, Reply, Stream
from streamres.transport.body import JSON, PeerGone, read_body, refuse_body

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.types import Message, Receive, Scope, Send

    from streamres.errors import StreamresError
    from streamres.limits import Limits
    from streamres.server import Dispatcher
    from streamres.transport.guard import Guard

_SESSION: Final = SESSION_HEADER.encode("ascii")
_SSE_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_BATCH: Final = 4
"""Pieces of a long answer that are sent at once: each costs the reader's HTTP library a chunk to find."""

_PING: Final = b":\n\n"


class HttpEndpoint:
    """The MCP endpoint: one message a POST; GET and DELETE for a session of the older era alone."""

    def __init__(self, dispatcher: Dispatcher, limits: Limits, guard: Guard) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self._guard = guard
        self.bytes_in = 0
        """Bytes of the messages taken so far."""
        self.bytes_out = 0
        """Bytes of what was answered so far."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one HTTP request (ASGI 3)."""
        raw = scope["headers"]
        headers = dict(raw)
        refusal = self._guard.refusal(headers.get(b"host"), headers.get(b"origin"))
        if refusal is not None:
            await _refuse(send, 403, InvalidRequest(refusal))
            return
        if scope["method"] != "POST":
            await self._serve_session(scope, headers, receive, send)
            return
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            await _refuse(send, 415, InvalidRequest("the body's Content-Type is application/json"))
            return
        try:
            body = await read_body(headers, receive, body_bytes=self._limits.body_bytes)
        except LimitExceeded as exc:
            await refuse_body(receive, send, jsonrpc.error(None, code_of(exc), str(exc), data_of(exc)))
            return
        except PeerGone:
            return
        self.bytes_in += len(body)
        outcome = await self._dispatcher.dispatch(body, lambda: RoutingHeaders.from_raw(raw, headers))
        if isinstance(outcome, Reply):
            self.bytes_out += len(outcome.body)
            await send_reply(send, outcome)
            return
        send = self._counting(send)
        match outcome:
            case Accepted() | Cancel():
                await _send(send, 202, b"")
            case LongReply():
                await _while_connected(receive, lambda: _reply_long(send, outcome))
            case Pending():
                await _while_connected(receive, lambda: _reply_later(send, outcome))
            case Stream():
                await self._stream(receive, send, outcome)
            case Begun(reply=reply, session=session):
                name = (_SESSION, session.id.encode("ascii"))
                await _send(send, reply.status, reply.body, [JSON, name])

    def _counting(self, send: Send) -> Send:
        def counted(message: Message) -> Awaitable[None]:
            self.bytes_out += len(message.get("body", b""))
            return send(message)

        return counted

    async def _serve_session(
        self, scope: Scope, headers: Mapping[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        """Serves a GET, the stream of a session, and a DELETE, its end; there is neither outside of one."""
        sessions = self._dispatcher.sessions
        try:
            session_id = session_of(None, RoutingHeaders.from_raw(scope["headers"], headers))
            match scope["method"]:
                case "GET" if session_id is not None:
                    session, send = sessions.find(session_id), self._counting(send)
                    await self._stream(receive, send, Stream(lambda write: sessions.run(session, write)))
                case "DELETE" if session_id is not None:
                    sessions.end(session_id)
                    await _send(send, 200, b"")
                case _:
                    await _send(send, 405, b"", [(b"allow", b"POST")])
        except (HeaderMismatch, SessionNotFound) as exc:
            await _refuse(send, HTTP_STATUS[code_of(exc)], exc)

    async def _stream(self, receive: Receive, send: Send, stream: Stream) -> None:
        async def write(message: bytes) -> None:
            body = b"".join((b"data: ", message, b"\n\n"))
            await send({"type": "http.response.body", "body": body, "more_body": True})

        async def ping() -> None:
            await send({"type": "http.response.body", "body": _PING, "more_body": True})

        async def work() -> None:
            await stream.run(write)
            await send({"type": "http.response.body", "body": b""})

        await send({"type": "http.response.start", "status": 200, "headers": _SSE_HEADERS})
        await _while_connected(receive, work, ping=ping, ping_s=self._limits.ping_s)


async def _while_connected(
    receive: Receive,
    work: Callable[[], Awaitable[None]],
    *,
    ping: Callable[[], Awaitable[None]] | None = None,
    ping_s: float = float("inf"),
) -> None:
    """Does `work` and cancels it when the peer goes; calls `ping` every `ping_s` seconds meanwhile."""
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while True:
                with anyio.move_on_after(ping_s):
                    if (await receive())["type"] == "http.disconnect":
                        group.cancel_scope.cancel()
                        return
                    continue
                if ping is not None:
                    await ping()

        group.start_soon(watch)
        await work()
        group.cancel_scope.cancel()


async def send_reply(send: Send, reply: Reply, also: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """Answers with one JSON message; `also` are further headers."""
    await _send(send, reply.status, reply.body, [JSON, *also])


async def _reply_long(send: Send, reply: LongReply) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [JSON]})
    while batch := b"".join(islice(reply.pieces, _BATCH)):
        await send({"type": "http.response.body", "body": batch, "more_body": True})
        await anyio.lowlevel.checkpoint()  # V4: a fast reader of a long text gives way to the others
    await send({"type": "http.response.body", "body": b""})


async def _reply_later(send: Send, pending: Pending) -> None:
    match await pending.answer():
        case Reply() as reply:
            await send_reply(send, reply)
        case LongReply() as reply:
            await _reply_long(send, reply)


async def _refuse(send: Send, status: int, exc: StreamresError) -> None:
    await _send(send, status, jsonrpc.error(None, code_of(exc), str(exc), data_of(exc)), [JSON])


async def _send(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    headers = [*(headers or ()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
