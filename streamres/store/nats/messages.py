"""What a message of the stream says: facts about one resource, in the order in which they hold.

A message is four bytes of length, JSON of that length, and the data of its commands one after another. All that
chance decides (epochs) is in it, and nothing in it can be refused: whoever published it has tried it on the very
state that `base` names, and the stream takes it at no other.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from streamres.errors import StoreError
from streamres.model import AppendNumber, Description

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamres.model import Seal

VERSION: Final = 2
"""What is published; 2 has removals, causes, and resources that are not listed. Those of version 1 are read."""

_READ: Final = (1, VERSION)

_SIZE_BYTES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """A resource begins."""

    description: Description
    content: bytes
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Content is added, the resource sealed, or both."""

    data: bytes
    seal: Seal | None
    number: AppendNumber | None
    cause: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Other content is put in place."""

    data: bytes
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """The revisions below `floor` are forgotten."""

    floor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """The resource is gone, and so are the messages before it; the message stays, for the next to follow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollUp:
    """All that there is of the resource; the messages before it are gone."""

    state: bytes


Command = Create | Append | Replace | Compact | Remove | RollUp


@dataclass(frozen=True, slots=True)
class PartsRef:
    """Names data that was published in parts before: the first `size` bytes of `count` parts."""

    id: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message as it came: what it needs of parts is still to be found."""

    uri: str
    base: int
    """The sequence number of the message before it on the same subject; 0 where it is the first."""
    op: str
    """A name of its own."""
    commands: Sequence[tuple[dict[str, Any], bytes | PartsRef]]

    @property
    def stands_alone(self) -> bool:
        """Says whether it stands for all before it, which is gone."""
        return bool(self.commands) and self.commands[0][0]["t"] in ("remove", "rollup")

    @property
    def refs(self) -> list[PartsRef]:
        """The parts that it needs."""
        return [data for _, data in self.commands if isinstance(data, PartsRef)]

    def resolved(self, parts: Callable[[PartsRef], bytes]) -> list[Command]:
        """Gives the commands with their data."""
        return [_command(head, data if isinstance(data, bytes) else parts(data)) for head, data in self.commands]


def data_of(command: Command) -> bytes:
    """Gives the bytes of a command that can go in parts."""
    match command:
        case Create():
            described = orjson.dumps(asdict(command.description))
            return len(described).to_bytes(_SIZE_BYTES) + described + command.content
        case Append() | Replace():
            return command.data
        case Compact() | Remove():
            return b""
        case RollUp():
            return command.state


def encode(uri: str, base: int, op: str, commands: Sequence[tuple[Command, bytes | PartsRef]]) -> bytes:
    """Gives a message; each command comes with its data, or with where that is."""
    heads: list[dict[str, Any]] = []
    inline: list[bytes] = []
    for command, data in commands:
        head = _head(command)
        if isinstance(data, PartsRef):
            head["parts"] = [data.id, data.count]
        else:
            head["n"] = len(data)
            inline.append(data)
        heads.append(head)
    said = orjson.dumps({"v": VERSION, "uri": uri, "base": base, "op": op, "do": heads})
    return b"".join((len(said).to_bytes(_SIZE_BYTES), said, *inline))


def decode(raw: bytes) -> Message:
    """Gives what `encode` was given.

    Raises:
        StoreError: it is something else, or of a later version.
    """
    try:
        at = _SIZE_BYTES + int.from_bytes(raw[:_SIZE_BYTES])
        said = orjson.loads(raw[_SIZE_BYTES:at])
        if said["v"] not in _READ:
            raise StoreError(
                f"the stream is of version {said['v']}; this streamres knows {VERSION}, use a later one"
            )
        commands: list[tuple[dict[str, Any], bytes | PartsRef]] = []
        for head in said["do"]:
            if "parts" in head:
                commands.append((head, PartsRef(*head["parts"])))
            else:
                commands.append((head, raw[at : at + head["n"]]))
                at += head["n"]
        return Message(uri=said["uri"], base=said["base"], op=said["op"], commands=commands)
    except (ValueError, KeyError, TypeError) as exc:
        raise StoreError(f"a message of the stream is none of streamres: {exc!r}") from exc


def packed(digest: bytes) -> str:
    """Gives bytes as text for JSON."""
    return b64encode(digest).decode()


def unpacked(text: str) -> bytes:
    """Gives the bytes that `packed` was given."""
    return b64decode(text)


def described(raw: bytes) -> Description:
    """Gives the description that is in JSON."""
    members = orjson.loads(raw)
    return Description(**{**members, "audience": tuple(members["audience"])})


def _head(command: Command) -> dict[str, Any]:
    match command:
        case Create():
            return {"t": "create", "e": command.epoch}
        case Append():
            head: dict[str, Any] = {"t": "append"}
            if command.seal is not None:
                head["s"] = command.seal
            if (number := command.number) is not None:
                head["p"] = [number.producer, number.epoch, number.seq]
            if command.cause is not None:
                head["c"] = command.cause
            return head
        case Replace():
            return {"t": "replace", "e": command.epoch}
        case Compact():
            return {"t": "compact", "f": command.floor}
        case Remove():
            return {"t": "remove"}
        case RollUp():
            return {"t": "rollup"}


def _command(head: dict[str, Any], data: bytes) -> Command:
    match head["t"]:
        case "create":
            at = _SIZE_BYTES + int.from_bytes(data[:_SIZE_BYTES])
            return Create(description=described(data[_SIZE_BYTES:at]), content=data[at:], epoch=head["e"])
        case "append":
            producer = head.get("p")
            number = (
                None
                if producer is None
                else AppendNumber(producer=producer[0], epoch=producer[1], seq=producer[2])
            )
            return Append(data=data, seal=head.get("s"), number=number, cause=head.get("c"))
        case "replace":
            return Replace(data=data, epoch=head["e"])
        case "compact":
            return Compact(floor=head["f"])
        case "remove":
            return Remove()
        case "rollup":
            return RollUp(state=data)
        case other:
            raise StoreError(f"the stream has {other!r}, which this streamres does not know; use a later one")
