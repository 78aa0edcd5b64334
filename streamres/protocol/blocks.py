"""The content blocks of a tool's result, as values and as JSON members."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamres.protocol.words import STREAM_META

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.model import Audience, Entry
    from streamres.protocol.binding import Binding


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    text: str
    audience: tuple[Audience, ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """An image, by its bytes and its type, as `image/png`."""

    data: bytes
    mime_type: str
    audience: tuple[Audience, ...] = ()


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound, by its bytes and its type, as `audio/wav`."""

    data: bytes
    mime_type: str
    audience: tuple[Audience, ...] = ()


@dataclass(frozen=True, slots=True)
class Embedded:
    """Contents of a resource: text, or bytes."""

    uri: str
    mime_type: str
    contents: str | bytes
    audience: tuple[Audience, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a resource that is none of the call's own outputs; those are linked by themselves."""

    uri: str
    name: str
    mime_type: str | None = None
    description: str | None = None
    audience: tuple[Audience, ...] = ()


@dataclass(frozen=True, slots=True)
class Foreign:
    """A block as another server gave it."""

    members: Mapping[str, Any]


Block = Text | Image | Audio | Embedded | Link | Foreign


def block_members(block: Block) -> dict[str, Any]:
    """Gives a block as MCP's `ContentBlock`."""
    if isinstance(block, Foreign):
        return dict(block.members)
    match block:
        case Text():
            members: dict[str, Any] = {"type": "text", "text": block.text}
        case Image():
            members = {"type": "image", "data": _base64(block.data), "mimeType": block.mime_type}
        case Audio():
            members = {"type": "audio", "data": _base64(block.data), "mimeType": block.mime_type}
        case Embedded():
            resource = {"uri": block.uri, "mimeType": block.mime_type, **contents_member(block.contents)}
            members = {"type": "resource", "resource": resource}
        case Link():
            members = {"type": "resource_link", "uri": block.uri, "name": block.name}
            if block.mime_type is not None:
                members["mimeType"] = block.mime_type
            if block.description is not None:
                members["description"] = block.description
    if block.audience:
        members["annotations"] = {"audience": block.audience}
    return members


def contents_member(contents: str | bytes) -> dict[str, str]:
    """Gives the member that holds contents: `text`, or `blob` in base64."""
    return {"text": contents} if isinstance(contents, str) else {"blob": _base64(contents)}


def entry_members(entry: Entry, binding: Binding | None) -> dict[str, Any]:
    """Gives the members by which lists and links describe a resource; with a binding, where its stream stands."""
    what, head = entry.description, entry.head
    members: dict[str, Any] = {"uri": what.uri, "name": what.name, "mimeType": what.mime_type}
    if what.title is not None:
        members["title"] = what.title
    if what.description is not None:
        members["description"] = what.description
    if what.audience:
        members["annotations"] = {"audience": what.audience}
    if what.kind != "json":
        members["size"] = head.position.length
    stream = {"kind": what.kind, "state": head.state, "revision": head.position.revision}
    if binding == "meta":
        members["_meta"] = {STREAM_META: {"stream": stream}}
    elif binding == "fields":
        members["stream"] = stream
    return members


def link_members(entry: Entry, binding: Binding | None) -> dict[str, Any]:
    """Gives the `resource_link` block to a streamable resource (SR-8.1.b)."""
    members = entry_members(entry, binding)
    if binding is None:
        members.pop("size", None)  # of what still grows it says nothing to a client that knows of no streams
    return {"type": "resource_link", **members}


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")
