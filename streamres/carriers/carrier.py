"""What a carrier is: how a server sends a growing content, and how a reader has it at the other end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp

    from streamres.carriers.content import Kind, Value
    from streamres.carriers.reach import Reach
    from streamres.carriers.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a carrier's text claims; the comparison proves each by a run."""

    ordered: bool
    """A reader can tell the order in which things happened, whatever order they come in."""
    gap_seen: bool
    """A reader that missed something learns of it, before or with the next thing that comes."""
    replay: Literal["no", "whole", "since"]
    """What was missed can be had while the work goes on: not at all, with all else, or by itself."""
    late_joiner: bool
    """A reader that nobody knew of at the beginning can have what there was."""
    on_task: bool
    """It works where a call became a task."""
    on_call: bool
    """It works on a plain call."""
    structured: bool
    """It carries JSON as JSON, and changes of it as changes."""
    corrections: bool
    """It can take back what it said."""
    payload_for: Literal["user", "model", "both", "unsaid"]
    """For whom its text says that the content is."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The content as the reader has it from now on."""

    value: Value
    """None where it has nothing."""
    lost: bool = field(default=False, kw_only=True)
    """The reader knows that this is not all that there should be, and that its carrier does not bring the rest."""
    ended: bool = field(default=False, kw_only=True)
    """The reader knows that nothing follows."""


class Carrier(Protocol):
    """One way of carrying. It does what its text says and no more: no repair that the text does not give."""

    id: str
    """Its name on the command line."""
    traits: Traits

    def serve(self, source: Source) -> AbstractAsyncContextManager[ASGIApp]:
        """Gives the app of one server process; MCP is at `/mcp`."""
        ...

    def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        """Gives the content each time that the reader has it anew, until it knows of the end.

        One whose end nobody tells goes on until it is cancelled.
        """
        ...
