"""One streamable resource: its content, its revisions, and what a reader with a cursor is given.

Pure: epochs come from outside, nothing waits, nothing is told to anyone. Every refusal leaves all as it was (M3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, get_args

from streamres.errors import DeltaError, DigestMismatch, ResourceSealed, RevisionConflict
from streamres.limits import Limits
from streamres.model.causes import Causes, check_cause
from streamres.model.content import BlobContent, TextContent
from streamres.model.cursor import Position
from streamres.model.delta import Append, Delta, Snapshot
from streamres.model.json_content import JsonContent
from streamres.model.producer import AppendNumber, Producers
from streamres.model.revisions import Revisions

if TYPE_CHECKING:
    from streamres.model.content import Kind

State = Literal["open", "complete", "aborted"]
Seal = Literal["complete", "aborted"]
Reset = Literal["expired", "epoch", "ahead", "smaller"]

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

    step: Delta | Snapshot
    state: State
    digest: str | None
    reset: Reset | None = None
    more: bool = False
    causes: tuple[str, ...] = ()
    """What led to a delta, oldest first, each once (SR-8.4.a); a snapshot has none."""


class ResourceLog:
    """The history of one resource from its creation to its seal.

    Revision 0 is the first content: empty, or `content`; of json, `null` or the document whose JSON that is. Each
    commit that changes something adds one (M1).

    Raises: as `replace`.
    """

    def __init__(
        self, uri: str, *, epoch: int, kind: Kind = "text", content: bytes = b"", limits: Limits | None = None
    ) -> None:
        self.uri = uri
        self._limits = limits = limits or Limits()
        self.content = _content_of(kind, limits)
        if content:
            self.content = self.content.replaced(content)
        length = self.content.length
        self.revisions = Revisions(length)
        self.causes = Causes()
        self.producers: Producers[Head] = Producers(max_producers=limits.producers)
        self.head = Head(position=Position(epoch, 0, length))

    @classmethod
    def restored(
        cls,
        uri: str,
        *,
        content: BlobContent | JsonContent,
        revisions: Revisions,
        head: Head,
        producers: Producers[Head],
        causes: Causes,
        limits: Limits,
    ) -> Self:
        """Gives a log as a store has kept its parts."""
        log = cls(uri, epoch=head.position.epoch, limits=limits)
        log.content, log.revisions, log.producers = content, revisions, producers
        log.causes, log.head = causes, head
        return log

    @property
    def floor(self) -> Position:
        """The oldest position of which the history is certain; older cursors are `expired` (SR-5.5)."""
        floor = self.revisions.floor
        return Position(self.head.position.epoch, floor, self.revisions.end(floor))

    def demand(self, kind: Kind) -> None:
        """Refuses what is meant for a resource of another kind (DeltaError)."""
        if kind != self.content.kind:
            raise DeltaError(f"{self.uri!r} is there, and its kind is {self.content.kind}, not {kind}")

    def commit(
        self,
        data: bytes,
        *,
        seal: Seal | None = None,
        number: AppendNumber | None = None,
        expected_revision: int | None = None,
        expected_digest: str | None = None,
        cause: str | None = None,
    ) -> Head:
        """Appends, seals, or both in one step, and gives the new head; to json, `data` is a patch.

        Nothing to append and nothing to seal is no revision. To seal again the same way changes nothing (M6).
        `expected_digest` is that of the content after it, as its producer has it. `cause` names the input that led
        to it (SR-8.4.a); a numbered repeat has that of the first time.

        Raises:
            DeltaError: for a text, `data` is not UTF-8 of whole code points (M5); for json, no patch that applies.
            ResourceSealed: there is a seal, and this is neither it nor a numbered repeat.
            RevisionConflict: `expected_revision` is not the head's.
            DigestMismatch: the content would have another digest than `expected_digest`.
            ProducerConflict, ProducerGap, ProducerFenced, LimitExceeded: see `Producers.repeated`.
            LimitExceeded, DeltaError: see `check_cause`.
        """
        check_cause(cause)
        if number is not None:
            parts = (data, (seal or "").encode())
            if (first := self.producers.repeated(self.uri, number, parts)) is not None:
                return first
        head = self.head
        if expected_revision is not None and expected_revision != head.position.revision:
            raise RevisionConflict(self.uri, expected_revision, head.position.revision)
        if head.state != "open":
            if data or seal != head.state:
                raise ResourceSealed(self.uri, head.state)
            self._demand_digest(expected_digest, head.digest)
            return head
        if expected_digest is not None:
            self._demand_digest(expected_digest, self.content.digest_after(data))
        self.content.append(data)
        if self.content.length > head.position.length or seal:
            self.revisions.append(self.content.length)
            position = Position(head.position.epoch, head.position.revision + 1, self.content.length)
            digest = self.content.digest() if seal else None
            self.head = Head(position=position, state=seal or "open", digest=digest)
            if cause is not None:
                self.causes.add(position.revision, cause)
            if isinstance(self.content, JsonContent):
                # A reader that is further behind than a document can be large is better off with the document.
                self.compact_to(self._limits.json_bytes)
        if number is not None:
            self.producers.record(number, parts, self.head)
        return self.head

    def replace(self, data: bytes, *, epoch: int) -> Head:
        """Starts a new epoch with other content (SR-2.4), of json a document in JSON; producers' numbers go on.

        Raises:
            DeltaError: `data` is not content of the kind, or the epoch is the old one.
            ResourceSealed: nothing follows a seal.
        """
        if self.head.state != "open":
            raise ResourceSealed(self.uri, self.head.state)
        if epoch == self.head.position.epoch:
            raise DeltaError("replaced content needs an epoch of its own")
        self.content = self.content.replaced(data)
        self.revisions = self.revisions.begun(self.content.length)
        self.causes = self.causes.begun()
        self.head = Head(position=Position(epoch, 0, self.content.length))
        return self.head

    def compact(self, floor: int) -> None:
        """Forgets the revisions below `floor`; the content and the head stay (SR-3.5, SR-4.5)."""
        floor = min(floor, self.head.position.revision)
        if floor > self.revisions.floor:
            self.revisions.forget(floor)
            self.causes.forget(floor)
            if isinstance(self.content, JsonContent):
                self.content.forget(self.revisions.end(floor))

    def compact_to(self, history_bytes: int) -> None:
        """Forgets the oldest revisions, so that about `history_bytes` of deltas stay: a quarter more at most.

        What is forgotten is forgotten in strides, since each costs a walk over the revisions.
        """
        length = self.content.length
        if length - self.floor.length > history_bytes + history_bytes // 4:
            self.compact(self.revisions.reaching(length - history_bytes))

    def read(
        self,
        since: Position | None = None,
        *,
        max_bytes: int | None = None,
        tail_bytes: int | None = None,
        append_op: bool = True,
    ) -> Reading:
        """Gives the delta after `since`, or a snapshot where there is none to give (SR-5.1 to SR-5.10).

        `max_bytes` bounds the content, though one byte, code point or patch is always given, and a document always
        whole; `tail_bytes` starts the snapshot of a text or blob late. Without `append_op` a patch is of RFC 6902
        alone.
        """
        reset = None if since is None else self._refusal(since)
        content, head = self.content, self.head.position
        if isinstance(content, JsonContent):
            if since is not None and reset is None:
                stop = self._patch_stop(since.length, max_bytes)
                if (patch := content.delta(since, stop, head, append_op=append_op)) is not None:
                    return self._reading(patch, None)
                reset = "smaller"
            return self._reading(content.snapshot(head), reset)
        if since is not None and reset is None:
            stop = self._stop(content, since.length, max_bytes)
            return self._reading(Append(start=since, stop=stop, content=content), None)
        begin = 0
        if tail_bytes is not None and since is None and tail_bytes < content.length:
            begin = content.line_start(content.length - tail_bytes)
        stop = self._stop(content, begin, max_bytes)
        return self._reading(Snapshot(stop=stop, content=content, begin=begin, end=stop.length), reset)

    def _demand_digest(self, expected_digest: str | None, actual: str | None) -> None:
        if expected_digest is not None and actual != expected_digest:
            raise DigestMismatch(self.uri, expected_digest, actual or "none: the document is outside I-JSON")

    def _reading(self, step: Delta | Snapshot, reset: Reset | None) -> Reading:
        causes = () if isinstance(step, Snapshot) else self.causes.of(step.start, step.stop, self.revisions)
        if step.stop is self.head.position:
            return Reading(step=step, state=self.head.state, digest=self.head.digest, reset=reset, causes=causes)
        return Reading(step=step, state="open", digest=None, reset=reset, more=True, causes=causes)

    def _patch_stop(self, begin: int, max_bytes: int | None) -> Position:
        """Where a read of patches from `begin` ends: at the end of a revision (SR-5.7)."""
        head = self.head.position
        # Kept, each operation has a comma after it; sent, they have brackets around them: one byte more in all.
        if max_bytes is None or begin == head.length or begin + max_bytes > head.length:
            return head
        revision = max(self.revisions.within(begin + max_bytes - 1), self.revisions.within(begin) + 1)
        length = self.revisions.end(revision)
        return head if length == head.length else Position(head.epoch, revision, length)

    def _stop(self, content: BlobContent, begin: int, max_bytes: int | None) -> Position:
        """Where a read from `begin` ends: at the very head, or inside or at the end of an earlier revision."""
        head = self.head.position
        if max_bytes is None or begin + max_bytes >= head.length:
            return head
        length = content.boundary_before(begin + max_bytes, after=begin)
        if length == head.length:
            return head
        return Position(head.epoch, self.revisions.reaching(length), length)

    def _refusal(self, since: Position) -> Reset | None:
        """Why no delta can be given from `since` (SR-5.5)."""
        head = self.head.position
        if since.epoch != head.epoch:
            return "epoch"
        if since.revision > head.revision:
            return "ahead"
        floor = self.revisions.floor
        if since.revision < floor:
            return "expired"
        end = self.revisions.end(since.revision)
        begin = self.revisions.end(since.revision - 1) if since.revision > floor else -1
        if since.length == end:
            return None
        if isinstance(self.content, BlobContent) and begin < since.length < end:
            return None if self.content.is_boundary(since.length) else "epoch"
        return "epoch"  # a position that this history never had: it belongs to another


def _content_of(kind: Kind, limits: Limits) -> BlobContent | JsonContent:
    match kind:
        case "text":
            return TextContent()
        case "blob":
            return BlobContent()
        case "json":
            return JsonContent(limits)
