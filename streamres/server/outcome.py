"""What a request leads to, in the words of a transport: an answer now, an answer later, or a stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamres.protocol.jsonrpc import RequestId
    from streamres.server.session import Session

Write = Callable[[bytes], Awaitable[None]]
"""Takes one whole JSON-RPC message; gives way while the peer is slow, raises nothing when the peer is gone."""


@dataclass(slots=True)
class Reply:
    """One JSON-RPC message that is ready, and the HTTP status that suits it."""

    body: bytes
    status: int = 200


@dataclass(frozen=True, slots=True)
class LongReply:
    """One JSON-RPC message in pieces, made while they are sent."""

    pieces: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Accepted:
    """A notification was taken; nothing is answered."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """A request of the same peer is not wanted any more; where each has a stream of its own, it closes that."""

    request_id: RequestId


@dataclass(frozen=True, slots=True)
class Pending:
    """An answer that waits for something; the transport cancels it when the peer goes (T1)."""

    answer: Callable[[], Awaitable[Reply | LongReply]]


@dataclass(frozen=True, slots=True)
class Stream:
    """Messages until the stream ends with its result; the transport cancels it when the peer goes (T1)."""

    run: Callable[[Write], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Begun:
    """The answer to a handshake, and the session that it began; the transport tells the peer how to name it."""

    reply: Reply
    session: Session


Outcome = Reply | LongReply | Accepted | Cancel | Pending | Stream | Begun
