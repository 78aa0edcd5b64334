"""The parts of what a tool puts out, as partials name them and as its final result has them.

Text blocks are one text. An embedded resource is a text or a blob of its own, by its URI. Sounds of one type are
one blob, each added to the last; of images of one type each replaces the last, for half an image is none.
Structured content is a document. Partials of streamable resources (SR-11.1) say in `_meta` of which each is.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamres.errors import DeltaError, LimitExceeded
from streamres.model.patch import operations_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamres.limits import Limits
    from streamres.model import Kind
    from streamres.model.patch import Operation


@dataclass(frozen=True, slots=True)
class Key:
    """Which part it is."""

    kind: Kind
    source: str | None = None
    """The URI that it has on the other server; None for what has none."""
    media: str | None = None
    """The type that tells images and sounds without a URI apart."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What one block brings to a part: more of it, or all of it anew."""

    key: Key
    data: bytes
    mime_type: str | None = None
    replaces: bool = False


def piece_of(block: Mapping[str, Any], source: str | None) -> Piece | None:
    """Gives what a content block brings; None for a link, which brings nothing.

    Raises:
        DeltaError: the block is none that can be kept.
    """
    match block:
        case {"type": "text", "text": str(text)}:
            return Piece(Key("text", source), _utf8(text))
        case {"type": "image", "data": str(data), "mimeType": str(mime_type)}:
            return Piece(_media(source, mime_type), _bytes(data), mime_type, replaces=True)
        case {"type": "audio", "data": str(data), "mimeType": str(mime_type)}:
            return Piece(_media(source, mime_type), _bytes(data), mime_type)
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text), **rest}}:
            return Piece(Key("text", source or uri), _utf8(text), _text(rest.get("mimeType")))
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data), **rest}}:
            return Piece(Key("blob", source or uri), _bytes(data), _text(rest.get("mimeType")))
        case {"type": "resource_link"}:
            return None
        case _:
            raise DeltaError(f"a block of the type {block.get('type')!r} cannot be kept")


def patch_of(structured: object, limits: Limits) -> list[Operation] | None:
    """Gives the patch that structured content of our own kind is (SR-11.1.b); None for any other."""
    match structured:
        case {"patch": list(patch), **rest} if not rest:
            try:
                return operations_of(patch, limits)
            except (DeltaError, LimitExceeded):
                return None
        case _:
            return None


def whole(content: Iterator[Mapping[str, Any]]) -> dict[Key, bytes]:
    """Gives the parts of a final result by their keys: what its blocks bring, one after another."""
    parts: dict[Key, bytes] = {}
    for block in content:
        try:
            piece = piece_of(block, None)
        except DeltaError:
            continue
        if piece is not None:
            before = b"" if piece.replaces else parts.get(piece.key, b"")
            parts[piece.key] = before + piece.data
    return parts


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise DeltaError(f"the text has a lone surrogate at index {exc.start}") from exc


def _bytes(data: str) -> bytes:
    try:
        return b64decode(data, validate=True)
    except binascii.Error as exc:
        raise DeltaError(f"not base64: {exc}") from exc


def _media(source: str | None, mime_type: str) -> Key:
    return Key("blob", None, mime_type) if source is None else Key("blob", source)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
