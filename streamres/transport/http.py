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

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.types import Message, Receive, Scope, Send

    from streamres.errors import StreamresError
    from streamres.limits import Limits
    from streamres.server import Dispatcher
    from streamres.transport.guard import Guard

_SESSION: Final = SESSION_HEADER.encode("ascii")
_JSON: Final = (b"content-type", b"application/json")
_SSE_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_DISCARDED_BYTES: Final = 64 * 1024 * 1024
_DISCARD_S: Final = 2.0
_BATCH: Final = 4
"""Pieces of a long answer that are sent at once: each costs the reader's HTTP library a chunk to find."""

_PING: Final = b":\n\n"


class PeerGone(Exception):
    """The peer went before it had sent its request."""


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
            await _reply(send, outcome)
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
                await _send(send, reply.status, reply.body, [_JSON, name])

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


async def read_body(
    headers: Mapping[bytes, bytes],
    receive: Receive,
    held: Callable[[int], None] | None = None,
    **limit: int,
) -> bytes:
    """Gives the request's body; `limit` is one limit by its name.

    `held` is told how many bytes there are so far, or are announced, and may refuse to hold them.

    Raises:
        LimitExceeded: it is longer than the limit; the rest was not read.
        PeerGone: the peer went before the end.
    """
    ((name, most),) = limit.items()
    declared = headers.get(b"content-length", b"0")
    announced = int(declared) if declared.isdigit() else 0
    body = bytearray()
    more = True
    while more and len(body) <= most and announced <= most:
        if held is not None:
            held(max(announced, len(body)))
        message = await receive()
        if message["type"] == "http.disconnect":
            raise PeerGone
        body += message.get("body", b"")
        more = message.get("more_body", False)
    if more or len(body) > most:
        raise LimitExceeded(name, most, "send less in one request")
    return bytes(body)


async def refuse_body(
    receive: Receive,
    send: Send,
    answer: bytes,
    *,
    status: int = 413,
    also: Sequence[tuple[bytes, bytes]] = (),
) -> None:
    """Answers a request whose body is not wanted, and hears a part of the rest: a peer cut off never reads why.

    `also` are further headers of the answer.
    """
    headers = [_JSON, (b"content-length", b"%d" % len(answer)), (b"connection", b"close"), *also]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": answer, "more_body": True})
    left = _DISCARDED_BYTES
    with anyio.move_on_after(_DISCARD_S):
        while left > 0:
            message = await receive()
            if not message.get("more_body", False):
                break
            left -= len(message.get("body", b""))
    await send({"type": "http.response.body", "body": b""})


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


async def _reply(send: Send, reply: Reply) -> None:
    await _send(send, reply.status, reply.body, [_JSON])


async def _reply_long(send: Send, reply: LongReply) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [_JSON]})
    while batch := b"".join(islice(reply.pieces, _BATCH)):
        await send({"type": "http.response.body", "body": batch, "more_body": True})
        await anyio.lowlevel.checkpoint()  # V4: a fast reader of a long text gives way to the others
    await send({"type": "http.response.body", "body": b""})


async def _reply_later(send: Send, pending: Pending) -> None:
    match await pending.answer():
        case Reply() as reply:
            await _reply(send, reply)
        case LongReply() as reply:
            await _reply_long(send, reply)


async def _refuse(send: Send, status: int, exc: StreamresError) -> None:
    await _send(send, status, jsonrpc.error(None, code_of(exc), str(exc), data_of(exc)), [_JSON])


async def _send(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    headers = [*(headers or ()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
