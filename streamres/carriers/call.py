"""A call of the work's tool, as every carrier on a call has it: the request, and the result that is complete."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from streamres.carriers.carrier import Seen
from streamres.carriers.content import MIME_TYPES
from streamres.carriers.source import TOOL, URI

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.carriers.content import Change, Kind, Value
    from streamres.carriers.serving import Asked, Message

TOKEN = 1
"""By which notifications name the call: as most clients do, the id of its request."""

NOT_THERE = Seen(None, lost=True)
"""A call is its caller's: one who comes later has no message to send for what it brings."""


def call(**tokens: int) -> dict[str, Any]:
    """Gives the parameters of the call, with the tokens of its `_meta`."""
    return {"name": TOOL, "arguments": {}, **({"_meta": tokens} if tokens else {})}


def blocks(kind: Kind, data: str | bytes) -> list[dict[str, Any]]:
    """Gives text or bytes as content blocks."""
    if isinstance(data, str):
        return [{"type": "text", "text": data}]
    blob = {"uri": URI, "mimeType": MIME_TYPES[kind], "blob": b64encode(data).decode("ascii")}
    return [{"type": "resource", "resource": blob}]


def data_of(content: list[dict[str, Any]], empty: Value) -> Value:
    """Gives the text or bytes of content blocks, one after another."""
    for block in content:
        empty += block["text"] if block["type"] == "text" else b64decode(block["resource"]["blob"])
    return empty


def result(asked: Asked, kind: Kind, value: Value) -> Message:
    """Gives the result with all of the content in it."""
    if kind == "json":
        return asked.result(content=[], structuredContent=value)
    return asked.result(content=blocks(kind, value))


def whole(kind: Kind, result: Mapping[str, Any]) -> Seen:
    """Gives what the reader has after the result."""
    if kind == "json":
        return Seen(result["structuredContent"], ended=True)
    return Seen(data_of(result["content"], "" if kind == "text" else b""), ended=True)


def chunk(change: Change) -> str | bytes | None:
    """Gives what a change adds; None where it does something else."""
    return getattr(change, "data", None)
