"""One streamable resource: its content, its revisions, and what a reader with a cursor is given.

Pure: epochs come from outside, nothing waits, nothing is told to anyone. Every refusal leaves all as it was (M3).
"""

from __future__ import annotations

from array import array
from base64 import b64encode
from bisect import bisect_left
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, get_args

from streamres.errors import DeltaError, ResourceSealed, RevisionConflict
from streamres.model.content import CONTENTS
from streamres.model.cursor import Position
from streamres.model.delta import Append, Snapshot
from streamres.model.producer import AppendNumber, Producers

if TYPE_CHECKING:
    from streamres.model.content import Kind

State = Literal["open", "complete", "aborted"]
Seal = Literal["complete", "aborted"]
Reset = Literal["expired", "epoch", "ahead"]

SEALS: tuple[Seal, ...] = get_args(Seal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The newest position of a resource and the state there; `digest` once it is sealed (SR-3.4)."""

    position: Position
    state: State = "open"
    digest: str | None = None


@dataclass(slots=True, kw_only=True)
class Reading:
    """The answer to a read. State and digest are those at the end of `step`: an earlier position is still open."""

    step: Append | Snapshot
    state: State
    digest: str | None
    reset: Reset | None = None
    more: bool = False


class ResourceLog:
    """The history of one resource, text or blob, from its creation to its seal.

    Revision 0 is the empty content; each commit that changes something adds one (M1).
    """

    def __init__(self, uri: str, *, epoch: int, kind: Kind = "text", max_producers: int = 1_000) -> None:
        self.uri = uri
        self._content = CONTENTS[kind]()
        self._hash = sha256()
        self._floor = 0
        self._ends = array("Q", [0])  # length at each revision from the floor on
        self._producers: Producers[Head] = Producers(max_producers=max_producers)
        self.head = Head(position=Position(epoch, 0, 0))

    @property
    def floor(self) -> Position:
        """The oldest position of which the history is certain; older cursors are `expired` (SR-5.5)."""
        return Position(self.head.position.epoch, self._floor, self._ends[0])

    def commit(
        self,
        data: bytes,
        *,
        seal: Seal | None = None,
        number: AppendNumber | None = None,
        expected_revision: int | None = None,
    ) -> Head:
        """Appends, seals, or both in one step, and gives the new head.

        Nothing to append and nothing to seal is no revision. To seal again the same way changes nothing (M6).

        Raises:
            DeltaError: for a text, `data` is not UTF-8 of whole code points (M5).
            ResourceSealed: there is a seal, and this is neither it nor a numbered repeat.
            RevisionConflict: `expected_revision` is not the head's.
            ProducerConflict, ProducerGap, ProducerFenced, LimitExceeded: see `Producers.repeated`.
        """
        if number is not None:
            parts = (data, (seal or "").encode())
            if (first := self._producers.repeated(self.uri, number, parts)) is not None:
                return first
        head = self.head
        if expected_revision is not None and expected_revision != head.position.revision:
            raise RevisionConflict(self.uri, expected_revision, head.position.revision)
        if head.state != "open":
            if not data and seal == head.state:
                return head
            raise ResourceSealed(self.uri, head.state)
        self._content.check(data)
        if data or seal:
            self._content.append(data)
            self._hash.update(data)
            self._ends.append(self._content.length)
            position = Position(head.position.epoch, head.position.revision + 1, self._content.length)
            digest = f"sha-256=:{b64encode(self._hash.digest()).decode()}:" if seal else None
            self.head = Head(position=position, state=seal or "open", digest=digest)
        if number is not None:
            self._producers.record(number, parts, self.head)
        return self.head

    def replace(self, data: bytes, *, epoch: int) -> Head:
        """Starts a new epoch with other content (SR-2.4); producers' numbers go on.

        Raises:
            DeltaError: for a text, `data` is not UTF-8 of whole code points; or the epoch is the old one.
            ResourceSealed: nothing follows a seal.
        """
        if self.head.state != "open":
            raise ResourceSealed(self.uri, self.head.state)
        if epoch == self.head.position.epoch:
            raise DeltaError("replaced content needs an epoch of its own")
        self._content.check(data)
        self._content = type(self._content)()
        self._content.append(data)
        self._hash = sha256(data)
        self._floor = 0
        self._ends = array("Q", [len(data)])
        self.head = Head(position=Position(epoch, 0, len(data)))
        return self.head

    def compact(self, floor: int) -> None:
        """Forgets the revisions below `floor`; the content and the head stay (SR-3.5, SR-4.5)."""
        floor = min(floor, self.head.position.revision)
        if floor > self._floor:
            self._ends = self._ends[floor - self._floor :]
            self._floor = floor

    def read(
        self, since: Position | None = None, *, max_bytes: int | None = None, tail_bytes: int | None = None
    ) -> Reading:
        """Gives the delta after `since`, or a snapshot where there is none to give (SR-5.1 to SR-5.8).

        `max_bytes` bounds the content, though one byte or code point is always given; `tail_bytes` starts a
        snapshot late.
        """
        reset = None if since is None else self._refusal(since)
        if since is not None and reset is None:
            stop = self._stop(since.length, max_bytes)
            return self._reading(Append(start=since, stop=stop, content=self._content), None)
        begin = 0
        if tail_bytes is not None and since is None and tail_bytes < self._content.length:
            begin = self._content.line_start(self._content.length - tail_bytes)
        stop = self._stop(begin, max_bytes)
        return self._reading(Snapshot(stop=stop, content=self._content, begin=begin), reset)

    def _reading(self, step: Append | Snapshot, reset: Reset | None) -> Reading:
        if step.stop is self.head.position:
            return Reading(step=step, state=self.head.state, digest=self.head.digest, reset=reset)
        return Reading(step=step, state="open", digest=None, reset=reset, more=True)

    def _stop(self, begin: int, max_bytes: int | None) -> Position:
        """Where a read from `begin` ends: at the very head, or inside or at the end of an earlier revision."""
        head = self.head.position
        if max_bytes is None or begin + max_bytes >= head.length:
            return head
        length = self._content.boundary_before(begin + max_bytes, after=begin)
        if length == head.length:
            return head
        return Position(head.epoch, self._floor + bisect_left(self._ends, length), length)

    def _refusal(self, since: Position) -> Reset | None:
        """Why no delta can be given from `since` (SR-5.5)."""
        head = self.head.position
        if since.epoch != head.epoch:
            return "epoch"
        if since.revision > head.revision:
            return "ahead"
        index = since.revision - self._floor
        if index < 0:
            return "expired"
        end = self._ends[index]
        begin = self._ends[index - 1] if index else -1
        if since.length == end or (begin < since.length < end and self._content.is_boundary(since.length)):
            return None
        return "epoch"  # a position that this history never had: it belongs to another
