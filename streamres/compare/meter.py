"""What went over the wire, counted between the two processes, below every carrier (K2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Meter:
    """Counts of one cell. Bytes are those of HTTP, heads and chunk frames included."""

    bytes_up: int = 0
    """Bytes that the reader sent."""
    bytes_down: int = 0
    """Bytes that the reader was sent, but for the five that mark the end of a stream."""
    messages: int = 0
    """JSON-RPC messages that the reader was sent: events of streams that hold data, and whole answers."""
    requests: int = 0
    """Requests that the reader made."""
    connections: int = 0
    """Connections that it opened."""
