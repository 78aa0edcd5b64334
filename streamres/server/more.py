"""What a room above adds to the server: methods, what `server/discover` says of them, and what is listened to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from streamres.protocol.jsonrpc import Request
from streamres.server.outcome import Outcome

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from streamres.protocol.envelope import Era
    from streamres.store import Watch

Method = Callable[[Request], Awaitable[Outcome]]
"""Serves one request."""


class Listening(Protocol):
    """What one subscription hears beside resources."""

    @property
    def uris(self) -> Sequence[str]:
        """What is watched for it in the store."""
        ...

    async def honoured(self) -> dict[str, Any]:
        """Gives the members of the filter that are honoured."""
        ...

    async def message(self, uri: str) -> bytes | None:
        """Gives the notification of a change at one of `uris`; None where there is nothing to say."""
        ...

    def news(self) -> bytes | None:
        """Gives a notification that is of no resource; None where there is none since the last time."""
        ...

    def waking(self, watch: Watch) -> AbstractContextManager[None]:
        """Wakes `watch` when there is news, while the context lasts."""
        ...


class More(Protocol):
    """What is added to a server."""

    def method(self, era: Era, name: str) -> Method | None:
        """Gives a method; None where it is not added."""
        ...

    def capabilities(self) -> dict[str, Any]:
        """Gives what `server/discover` says of it under `capabilities`."""
        ...

    def extensions(self) -> dict[str, Any]:
        """Gives what it says under `capabilities.extensions`."""
        ...

    def listening(self, request: Request) -> Listening:
        """Gives what a `subscriptions/listen` hears of it; raises what its filter deserves."""
        ...
