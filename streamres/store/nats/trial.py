"""What a write would do to a resource: tried before it is published, by the rules of the log.

A trial keeps no content, only what decides: length, digest, head, producers, and of json a document of its own.
"""

from __future__ import annotations

from collections import OrderedDict
from secrets import randbits
from typing import TYPE_CHECKING, ClassVar, Final, Self

from streamres.errors import LimitExceeded, ResourceExists, ResourceNotFound
from streamres.model import (
    EPOCH_BITS,
    BlobContent,
    Causes,
    Document,
    Head,
    JsonContent,
    Kind,
    Operations,
    Position,
    ResourceLog,
    Revisions,
    TextContent,
    parse_json,
)
from streamres.model.reassembler import READER
from streamres.store.nats.messages import Append, Compact, Create, Remove, Replace
from streamres.store.nats.resource import Tracks

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.model import AppendNumber, Description, ProducerStanding, Seal
    from streamres.store.nats.messages import Command
    from streamres.store.nats.replica import Replica

KEPT: Final = 256
"""Trials at hand: a document that is written to by this server is there twice."""


class _BlobMeasure(BlobContent):
    """The length and the digest of content, without the content."""

    __slots__ = ()

    def append(self, data: bytes) -> None:
        self._check(data)
        self._hash.update(data)
        self.length += len(data)

    @classmethod
    def of(cls, content: BlobContent) -> Self:
        """Gives those of content that is there."""
        measure = cls()
        measure._hash, measure.length = content._hash.copy(), content.length
        return measure


class _TextMeasure(_BlobMeasure):
    __slots__ = ()

    kind: ClassVar[Kind] = "text"
    _check = staticmethod(TextContent._check)


class _OperationsLength(Operations):
    __slots__ = ()

    def __init__(self, length: int = 0) -> None:
        super().__init__()
        self._begin = length

    def append(self, data: bytes) -> None:
        self._begin += len(data)

    def begun(self) -> _OperationsLength:
        return _OperationsLength()


class _RevisionsUnkept(Revisions):
    __slots__ = ()

    def append(self, length: int) -> None:
        pass

    def begun(self, length: int) -> _RevisionsUnkept:
        return _RevisionsUnkept(length)


class _CausesUnkept(Causes):
    __slots__ = ()

    def add(self, revision: int, cause: str) -> None:
        pass

    def begun(self) -> _CausesUnkept:
        return self


class _Log(ResourceLog):
    def compact_to(self, history_bytes: int) -> None:
        pass


class Trial:
    """Writes to one resource one after another, none of them published yet."""

    def __init__(self, replica: Replica, uri: str, limits: Limits) -> None:
        self.base = replica.seq_of(uri)
        """The message that the first of the writes follows."""
        self.commands: list[Command] = []
        """What there is to publish."""
        self._uri = uri
        self._replica = replica
        self._limits = limits
        self._tracks: Tracks
        self._floor = 0
        self._log: _Log | None = None
        if (resource := replica.find(uri)) is not None:
            log = resource.log
            self._floor = log.revisions.floor
            self._begin(log.head, self._content(log), resource.tracks)

    def create(self, description: Description, content: bytes) -> Head:
        """Makes the resource; raises as `Store.create`."""
        if self._log is not None:
            raise ResourceExists(self._uri)
        return self._make(description, content).head

    def append(
        self,
        data: bytes,
        seal: Seal | None,
        number: AppendNumber | None,
        expected_revision: int | None,
        expected_digest: str | None,
        create: Description | None,
        cause: str | None,
    ) -> Head:
        """Appends, seals, or both; raises as `Store.append`."""
        if made := create if self._log is None else None:
            self._make(made, b"")
        log = self._there()
        if create is not None:
            log.demand(create.kind)
        before, known = log.head, self._standing(number)
        try:
            head = log.commit(
                data,
                seal=seal,
                number=number,
                expected_revision=expected_revision,
                expected_digest=expected_digest,
                cause=cause,
            )
        except BaseException:
            if made:
                self._log = None
                self.commands.pop()
            raise
        if log.head is not before or self._standing(number) != known:
            self.commands.append(Append(data=data, seal=seal, number=number, cause=cause))
        return head

    def replace(self, data: bytes) -> Head:
        """Puts other content in place; raises as `Store.replace`."""
        log = self._there()
        epoch = old = log.head.position.epoch
        while epoch == old:
            epoch = randbits(EPOCH_BITS)
        head = log.replace(data, epoch=epoch)
        self._floor = 0
        self.commands.append(Replace(data=data, epoch=epoch))
        return head

    def compact(self, floor: int) -> Head:
        """Forgets the revisions below `floor`; raises as `Store.compact`."""
        log = self._there()
        if (floor := min(floor, log.head.position.revision)) > self._floor:
            self._floor = floor
            self.commands.append(Compact(floor=floor))
        return log.head

    def remove(self) -> Head:
        """Removes the resource, and gives where it stood; raises as `Store.remove`."""
        head = self._there().head
        self._log = None
        self._floor = 0
        self.commands.append(Remove())
        return head

    def _make(self, description: Description, content: bytes) -> _Log:
        if len(self._replica) >= self._limits.resources:
            raise LimitExceeded("resources", self._limits.resources, "use a second stream")
        empty = _empty(description.kind, self._limits)
        kept = empty.replaced(content) if content else empty
        epoch = randbits(EPOCH_BITS)
        self.commands.append(Create(description=description, content=content, epoch=epoch))
        return self._begin(Head(position=Position(epoch, 0, kept.length)), kept, Tracks())

    def _begin(self, head: Head, content: BlobContent | JsonContent, tracks: Tracks) -> _Log:
        self._tracks = tracks.copied(self._limits.producers)
        self._log = _Log.restored(
            self._uri,
            content=content,
            revisions=_RevisionsUnkept(content.length),
            head=head,
            producers=self._tracks,
            causes=_CausesUnkept(),
            limits=self._limits,
        )
        return self._log

    def _content(self, log: ResourceLog) -> BlobContent | JsonContent:
        match log.content:
            case JsonContent():
                value = parse_json(log.content.document.encoded(), max_depth=READER.json_depth)
                return JsonContent(
                    self._limits, Document(self._limits, value), _OperationsLength(log.head.position.length)
                )
            case TextContent():
                return _TextMeasure.of(log.content)
            case _:
                return _BlobMeasure.of(log.content)

    def _there(self) -> _Log:
        if self._log is None:
            raise ResourceNotFound(self._uri)
        return self._log

    def _standing(self, number: AppendNumber | None) -> ProducerStanding | None:
        return None if number is None else self._tracks.standing(number.producer)


class Trials:
    """The trials of one server: each goes on from what it has published, until another server publishes."""

    def __init__(self, replica: Replica, limits: Limits) -> None:
        self._replica = replica
        self._limits = limits
        self._kept: OrderedDict[str, Trial] = OrderedDict()

    def take(self, uri: str) -> Trial:
        """Gives a trial that stands where the resource does, with nothing to publish."""
        trial = self._kept.pop(uri, None)
        if trial is not None and trial.base == self._replica.seq_of(uri):
            return trial
        return Trial(self._replica, uri, self._limits)

    def put(self, uri: str, trial: Trial, seq: int) -> None:
        """Keeps a trial whose writes are applied as the message `seq`."""
        trial.base = seq
        trial.commands = []
        self._kept[uri] = trial
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)


def _empty(kind: Kind, limits: Limits) -> BlobContent | JsonContent:
    match kind:
        case "text":
            return _TextMeasure()
        case "blob":
            return _BlobMeasure()
        case "json":
            return JsonContent(limits, operations=_OperationsLength())
