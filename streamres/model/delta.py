"""The answers that a history gives: a delta between two positions, or a snapshot at one.

Those of text and bytes are views of the one copy of the content: making, merging and keeping them costs nothing.
What any of them shows stays the same while the resource changes (SR-3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamres.errors import DeltaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamres.model.content import BlobContent
    from streamres.model.cursor import Position


@dataclass(slots=True, kw_only=True)
class Append:
    """What was added between two positions of one epoch."""

    start: Position
    stop: Position
    content: BlobContent

    @property
    def begin(self) -> int:
        """Byte offset at which it begins."""
        return self.start.length

    @property
    def size(self) -> int:
        """Bytes added."""
        return self.stop.length - self.start.length

    def slices(self) -> Iterator[bytes]:
        """Walks the added bytes in slices; of a text, in whole code points (M5)."""
        return self.content.slices(self.begin, self.stop.length)

    def merge(self, later: Append) -> Append:
        """Gives the one delta that equals this and then `later` (SR-3.3).

        Raises:
            DeltaError: `later` does not start where this stops.
        """
        if later.content is not self.content or later.start != self.stop:
            raise DeltaError(f"a delta from {later.start} does not follow one to {self.stop}")
        return Append(start=self.start, stop=later.stop, content=self.content)


@dataclass(slots=True, kw_only=True)
class Patch:
    """What was changed in a document between two positions of one epoch: `operations` is RFC 6902 in JSON."""

    start: Position
    stop: Position
    operations: bytes

    @property
    def size(self) -> int:
        """Bytes of the patch."""
        return len(self.operations)


Delta = Append | Patch


@dataclass(slots=True, kw_only=True)
class Snapshot:
    """The content at a position, or the JSON of the document there, in bytes from `begin` to `end`."""

    stop: Position
    content: BlobContent
    begin: int = 0
    end: int

    @property
    def size(self) -> int:
        """Bytes of content."""
        return self.end - self.begin

    def slices(self) -> Iterator[bytes]:
        """Walks the bytes in slices; of a text or document, in whole code points."""
        return self.content.slices(self.begin, self.end)


def fold(snapshot: Snapshot, deltas: Iterable[Append]) -> bytes:
    """Gives the text or bytes that follow from a snapshot and the deltas after it (SR-3.2).

    Raises:
        DeltaError: a delta does not start where what came before it stops.
    """
    parts = list(snapshot.slices())
    stop = snapshot.stop
    for delta in deltas:
        if delta.start != stop:
            raise DeltaError(f"a delta from {delta.start} does not follow content at {stop}")
        parts.extend(delta.slices())
        stop = delta.stop
    return b"".join(parts)
