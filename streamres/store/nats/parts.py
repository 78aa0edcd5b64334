"""Data that came in parts, until the message that makes it count.

Parts change nothing by themselves. A writer that dies leaves some that no message names: they are dropped by the
time that the stream has given them, which is the same for every replica.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from streamres.store.nats.messages import PartsRef

KEPT_S: Final = 600.0
"""Seconds of the stream for which parts are good: a message later than that finds none, whoever reads it."""

USED_S: Final = 60.0
"""Seconds after which a writer publishes its parts anew: far less, so clocks may differ."""

_INDEX_BYTES: Final = 4
_ID_CHARS: Final = 32
OVERHEAD_BYTES: Final = _ID_CHARS + _INDEX_BYTES


@dataclass(slots=True)
class _Parts:
    uri_subject: str
    seq: int
    at: float
    pieces: dict[int, bytes] = field(default_factory=dict)


class Parts:
    """The parts that no message has named yet."""

    def __init__(self) -> None:
        self._of: dict[str, _Parts] = {}

    def add(self, subject: str, seq: int, at: float, raw: bytes) -> None:
        """Takes one in; `at` is the stream's time, in seconds."""
        self._drop(at)
        id_ = raw[:_ID_CHARS].decode("ascii", "replace")
        index = int.from_bytes(raw[_ID_CHARS:OVERHEAD_BYTES])
        parts = self._of.setdefault(id_, _Parts(subject, seq, at))
        parts.pieces[index] = raw[OVERHEAD_BYTES:]

    def take(self, ref: PartsRef, at: float) -> bytes | None:
        """Gives the data, and forgets it; None where it is not all there, or too old at the time `at`."""
        self._drop(at)
        parts = self._of.pop(ref.id, None)
        if parts is None or any(index not in parts.pieces for index in range(ref.count)):
            return None
        return b"".join(parts.pieces[index] for index in range(ref.count))

    def oldest(self, subject: str) -> int | None:
        """Gives the sequence number of the first part on a subject that a message may still name."""
        return min((parts.seq for parts in self._of.values() if parts.uri_subject == subject), default=None)

    def __len__(self) -> int:
        return len(self._of)

    def _drop(self, now: float) -> None:
        # In the order in which they came, so the first that is young enough ends it.
        while self._of and (first := next(iter(self._of))) and self._of[first].at < now - KEPT_S:
            del self._of[first]


def encode_part(id_: str, index: int, data: bytes) -> bytes:
    """Gives one part as it is published."""
    return id_.encode("ascii") + index.to_bytes(_INDEX_BYTES) + data
