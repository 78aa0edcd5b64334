"""Content by kind: decoded, folded and digested here anew, with nothing of the library's model."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import jsonpatch
import jsonpointer
import rfc8785

from streamres.check.exchange import short
from streamres.check.finding import Broken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.check.exchange import Exchange

Kind = Literal["text", "blob", "json"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

Content = Any
"""Bytes of a text or a blob; the value of a json."""
Step = Any
"""Bytes that are added, or the list of patch operations."""

PAYLOAD: Final[Mapping[Kind, str]] = {"text": "text", "blob": "blob", "json": "patch"}
SNAPSHOT: Final[Mapping[Kind, str]] = {"text": "text", "blob": "blob", "json": "text"}


def decode(kind: Kind, holder: Mapping[str, Any], member: str, exchange: Exchange) -> bytes:
    """Gives the bytes of the text or the base64 that an object holds.

    Raises:
        Broken: it holds neither, or a broken one.
    """
    value = holder.get(member)
    if not isinstance(value, str):
        got = f"the {kind} has no string in {member!r}: {short(holder)}"
        raise Broken(got, clause="SR-2.2" if kind == "blob" else None, exchange=exchange)
    if kind == "blob":
        try:
            return b64decode(value, validate=True)
        except binascii.Error as exc:
            raise Broken(f"{member!r} is not base64: {short(value)}", clause="SR-2.2", exchange=exchange) from exc
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as exc:
        got = f"the text has half a code point at {exc.start}: {short(value)}"
        raise Broken(got, clause="SR-2.1.a", exchange=exchange) from exc


def fold(kind: Kind, content: Content, step: Step, exchange: Exchange) -> Content:
    """Gives the content after a step; the one before stays as it is.

    Raises:
        Broken: the patch does not apply.
    """
    if kind != "json":
        return content + step
    try:
        for operation in step:
            content = _applied(content, operation)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, KeyError) as exc:
        got = f"the patch does not apply ({exc}): {short(step)}"
        raise Broken(got, clause="SR-2.3.a", exchange=exchange) from exc
    return content


def _applied(content: Content, operation: Mapping[str, Any]) -> Content:
    if operation["op"] != "append":
        return jsonpatch.apply_patch(content, [dict(operation)])
    before = jsonpointer.resolve_pointer(content, operation["path"])
    grown = {"op": "replace", "path": operation["path"], "value": before + operation["value"]}
    return jsonpatch.apply_patch(content, [grown])


def digest(kind: Kind, content: Content) -> str | None:
    """Gives the digest of SR-3.4.b, None for a json value outside I-JSON (SR-3.4.c)."""
    if kind == "json":
        try:
            content = rfc8785.dumps(content)
        except rfc8785.CanonicalizationError:
            return None
    return f"sha-256=:{b64encode(sha256(content).digest()).decode()}:"


def told(kind: Kind, content: Content) -> str:
    """Gives content for a person."""
    if kind == "json":
        return short(content)
    text = content.decode("utf-8", "backslashreplace") if isinstance(content, bytes) else content
    return short(text)
