"""What is carried: a kind of content, and the changes that make it grow. A carrier knows no more of a work."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import jsonpatch
import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Kind = Literal["text", "blob", "json"]

Value = Any
"""What content is for its reader: a str, bytes, or a JSON value."""

EMPTY: Mapping[Kind, Value] = {"text": "", "blob": b"", "json": None}

MIME_TYPES: Mapping[Kind, str] = {
    "text": "text/plain",
    "blob": "application/octet-stream",
    "json": "application/json",
}


@dataclass(frozen=True, slots=True)
class Append:
    """More text, or more bytes."""

    data: str | bytes


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of a document (RFC 6902)."""

    operations: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Replace:
    """Other content in place of all there was."""

    value: Value


Change = Append | Patch | Replace


def applied(value: Value, change: Change) -> Value:
    """Gives the content after one change; `value` stays as it is."""
    match change:
        case Append(data):
            return value + data
        case Patch(operations):
            return jsonpatch.apply_patch(copy.deepcopy(value), list(operations), in_place=True)
        case Replace(other):
            return other


def as_text(value: Value) -> str:
    """Gives a text as it is, and a JSON value as JSON: for carriers that carry a string."""
    return value if isinstance(value, str) else orjson.dumps(value).decode("utf-8")


def from_text(kind: Kind, text: str) -> Value:
    """Gives back what `as_text` was given."""
    return orjson.loads(text) if kind == "json" else text
