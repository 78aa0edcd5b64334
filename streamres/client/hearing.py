"""What comes before the result of a call, brought to those who want to hear of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from streamres.client.calls import Partial, Progress, partial_of, progress_of
from streamres.client.wire import Listed, listed
from streamres.errors import ProtocolError
from streamres.protocol import words

logger = logging.getLogger("streamres.client")

Responses = Mapping[str, Any]
"""What is answered to a server, by the keys of what it asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """Who is told what during a call; each is waited for."""

    on_progress: Callable[[Progress], Awaitable[None]] | None = None
    on_partial: Callable[[Partial], Awaitable[None]] | None = None
    on_outputs: Callable[[list[Listed]], Awaitable[None]] | None = None
    on_task: Callable[[Mapping[str, Any]], Awaitable[None]] | None = None
    on_input: Callable[[Mapping[str, Mapping[str, Any]]], Awaitable[Responses]] | None = None
    basis: Callable[[], str | None] = lambda: None
    """Gives the cursor that the caller has seen by now (SR-8.4)."""

    async def hear(self, message: Mapping[str, Any]) -> None:
        """Takes one message that comes before the result; what is malformed is left out."""
        params = message.get("params")
        if not isinstance(params, dict):
            return
        match message.get("method"):
            case words.PROGRESS if self.on_progress is not None:
                if (progress := progress_of(params)) is not None:
                    await self.on_progress(progress)
            case words.PARTIAL_RESULT if self.on_partial is not None:
                if (partial := partial_of(params)) is not None:
                    await self.on_partial(partial)
                else:
                    logger.warning("a partial result is malformed, and left out")
            case words.OUTPUTS if self.on_outputs is not None:
                await self.on_outputs(outputs_of(params))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The members by which a call asks for all this."""
        wanted = {"progressToken": self.on_progress, "partialResultToken": self.on_partial}
        return tuple(name for name, callback in wanted.items() if callback is not None)


def outputs_of(members: Mapping[str, Any]) -> list[Listed]:
    """Gives the outputs that a notification or a task names (SR-8.2); none where they are malformed."""
    links = members.get("outputs")
    try:
        return [listed(link) for link in links] if isinstance(links, list) else []
    except ProtocolError as exc:
        logger.warning("the outputs of a call are malformed, and left out: %s", exc)
        return []
