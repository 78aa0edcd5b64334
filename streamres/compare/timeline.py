"""What happened in a cell, in order: what the producer committed, when the reader came, and what it had."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamres.carriers import Seen


@dataclass(slots=True)
class Committed:
    """The producer made its changes up to the `count`-th."""

    count: int
    at: float
    """The second of the work."""
    bytes_down: int
    """What the reader had been sent by then."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The reader had its content anew."""

    seen: Seen
    at: float
    """The second of the work."""
    bytes_down: int


@dataclass(frozen=True, slots=True)
class Joined:
    """The reader came, and asks from now on."""

    at: float
    """The second of the work."""


@dataclass(slots=True)
class Timeline:
    """The one report by which a carrier is judged."""

    entries: list[Committed | Shown | Joined] = field(default_factory=list)
