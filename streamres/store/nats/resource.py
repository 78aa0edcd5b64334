"""One resource as a replica holds it, what a message makes of it, and all of it as the bytes of a roll-up."""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import asdict, dataclass, field
from sys import byteorder
from typing import TYPE_CHECKING, Any, Final

import orjson

from streamres.model import (
    BlobContent,
    Causes,
    Description,
    Document,
    Entry,
    Head,
    JsonContent,
    Operations,
    Position,
    Producers,
    ResourceLog,
    Retention,
    Revisions,
    Run,
    TextContent,
    parse_json,
)
from streamres.model.reassembler import READER
from streamres.store.nats.messages import Append, Compact, Create, Replace, packed, unpacked

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.model import Kind
    from streamres.store.nats.messages import Command

REMEMBERED: Final = 256
"""Messages of one resource whose names are remembered: who lost an answer finds out by them what became of it."""

_SIZE_BYTES: Final = 4
_ENDS: Final = "Q"


class Tracks(Producers[Head]):
    """The producers of one resource; those who published have checked how many there may be."""

    def __init__(self, max_producers: int = 1 << 30) -> None:
        super().__init__(max_producers=max_producers)

    @property
    def names(self) -> tuple[str, ...]:
        """Who has written with numbers."""
        return tuple(self._tracks)

    def copied(self, max_producers: int) -> Tracks:
        """Gives the same again."""
        copy = Tracks(max_producers)
        for name in self._tracks:
            copy.restore(name, *self.track(name))
        return copy


class _KeptOperations(Operations):
    """Operations from an offset on."""

    def __init__(self, begin: int, data: bytes) -> None:
        super().__init__()
        self._begin = begin
        self._bytes += data


@dataclass(slots=True, kw_only=True)
class Resource:
    """A resource, with what the stream knows of it."""

    description: Description
    created: int
    """The sequence number at which it was made: its place in lists."""
    log: ResourceLog
    tracks: Tracks
    retention: Retention
    stored: int = 0
    """Bytes that its messages take in the stream, about."""
    split: bool = False
    """Whether there are parts among them."""
    ops: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """The last messages: which one each follows, and its name."""

    @property
    def entry(self) -> Entry:
        """The resource as lists have it."""
        return Entry(description=self.description, head=self.log.head)

    @property
    def size(self) -> int:
        """Bytes that a roll-up would take, about."""
        log = self.log
        beside = (log.head.position.revision - log.revisions.floor) * 8 + log.causes.size
        if isinstance(log.content, JsonContent):
            return beside + log.content.document.measured + log.content.length - log.floor.length
        return beside + log.content.length

    def apply(self, command: Command) -> None:
        """Makes what was published."""
        match command:
            case Append():
                self.log.commit(command.data, seal=command.seal, number=command.number, cause=command.cause)
            case Replace():
                self.log.replace(command.data, epoch=command.epoch)
            case Compact():
                self.log.compact(command.floor)

    def state(self) -> bytes:
        """Gives all of it, to be `restored`."""
        log = self.log
        floor, head = log.floor, log.head
        ends = array(_ENDS, (log.revisions.end(n) for n in range(floor.revision, head.position.revision + 1)))
        if byteorder == "big":
            ends.byteswap()
        if isinstance(log.content, JsonContent):
            document = log.content.document.encoded()
            content = [document, log.content.operations.between(floor.length, head.position.length)]
        else:
            content = list(log.content.slices(0, head.position.length))
            document = b""
        producers = {}
        for name in self.tracks.names:
            epoch, next_seq, recent = self.tracks.track(name)
            producers[name] = [epoch, next_seq, [[packed(digest), _of_head(ack)] for digest, ack in recent]]
        said = orjson.dumps(
            {
                "description": asdict(self.description),
                "created": self.created,
                "head": _of_head(head),
                "floor": floor.revision,
                "producers": producers,
                "causes": [list(run) for run in log.causes.runs],
                "ops": list(self.ops),
                "document": len(document),
            }
        )
        return b"".join((len(said).to_bytes(_SIZE_BYTES), said, ends.tobytes(), *content))

    @classmethod
    def restored(cls, state: bytes, limits: Limits) -> Resource:
        """Gives the resource that a roll-up holds."""
        at = _SIZE_BYTES + int.from_bytes(state[:_SIZE_BYTES])
        said = orjson.loads(state[_SIZE_BYTES:at])
        head, floor = _head_of(said["head"]), int(said["floor"])
        ends = array(_ENDS)
        size = (head.position.revision - floor + 1) * ends.itemsize
        ends.frombytes(state[at : at + size])
        if byteorder == "big":
            ends.byteswap()
        revisions = Revisions(ends[0])
        revisions.floor = floor
        for end in ends[1:]:
            revisions.append(end)
        members = said["description"]
        description = Description(**{**members, "audience": tuple(members["audience"])})
        rest = state[at + size :]
        content: BlobContent | JsonContent
        if description.kind == "json":
            value = parse_json(rest[: said["document"]], max_depth=READER.json_depth)
            operations = _KeptOperations(ends[0], rest[said["document"] :])
            content = JsonContent(READER, Document(READER, value), operations)
        else:
            content = _empty(description.kind)
            if rest:
                content.append(rest)
        tracks = Tracks()
        for name, (epoch, next_seq, recent) in said["producers"].items():
            tracks.restore(name, epoch, next_seq, [(unpacked(digest), _head_of(ack)) for digest, ack in recent])
        causes = Causes([Run(*run) for run in said.get("causes", ())])  # none before version 2
        resource = cls._with(description, said["created"], content, revisions, head, tracks, causes, limits)
        resource.ops.extend((base, op) for base, op in said["ops"])
        return resource

    @classmethod
    def made(cls, create: Create, seq: int, limits: Limits) -> Resource:
        """Gives the resource that is made by the message `seq`."""
        content = _empty(create.description.kind)
        if create.content:
            content = content.replaced(create.content)
        head = Head(position=Position(create.epoch, 0, content.length))
        revisions = Revisions(content.length)
        return cls._with(create.description, seq, content, revisions, head, Tracks(), Causes(), limits)

    @classmethod
    def _with(
        cls,
        description: Description,
        created: int,
        content: BlobContent | JsonContent,
        revisions: Revisions,
        head: Head,
        tracks: Tracks,
        causes: Causes,
        limits: Limits,
    ) -> Resource:
        log = ResourceLog.restored(
            description.uri,
            content=content,
            revisions=revisions,
            head=head,
            producers=tracks,
            causes=causes,
            limits=limits,
        )
        return cls(description=description, created=created, log=log, tracks=tracks, retention=Retention(limits))


def _empty(kind: Kind) -> BlobContent | JsonContent:
    match kind:
        case "text":
            return TextContent()
        case "blob":
            return BlobContent()
        case "json":
            # What was published was within the limits of its publisher, and is no longer to be refused.
            return JsonContent(READER)


def _of_head(head: Head) -> list[Any]:
    position = head.position
    return [position.epoch, position.revision, position.length, head.state, head.digest]


def _head_of(values: list[Any]) -> Head:
    epoch, revision, length, state, digest = values
    return Head(position=Position(epoch, revision, length), state=state, digest=digest)
