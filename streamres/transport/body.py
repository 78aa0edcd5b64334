"""The body of an HTTP request: read whole, or refused before it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from streamres.errors import LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.types import Receive, Send

JSON: Final = (b"content-type", b"application/json")
_DISCARDED_BYTES: Final = 64 * 1024 * 1024
_DISCARD_S: Final = 2.0


class PeerGone(Exception):
    """The peer went before it had sent its request."""


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
    headers = [JSON, (b"content-length", b"%d" % len(answer)), (b"connection", b"close"), *also]
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
