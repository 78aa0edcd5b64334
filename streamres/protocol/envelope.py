"""What every request of the modern era says of itself, in `_meta` and again in HTTP headers.

The order of the checks is the specification's: a client that disagrees with itself is told so before it is told
that its version is unknown.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from streamres.errors import HeaderMismatch, InvalidParams, UnsupportedVersion
from streamres.protocol.words import (
    CAPABILITIES_META,
    INITIALIZE,
    LEGACY_VERSIONS,
    METHOD_HEADER,
    NAME_HEADER,
    NAMED_BY,
    PARAM_HEADER,
    SESSION_HEADER,
    VERSION,
    VERSION_HEADER,
    VERSION_META,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamres.protocol.jsonrpc import Notification, Request

Era = Literal["modern", "legacy"]

_PREFIX, _SUFFIX = "=?base64?", "?="
_ARGUMENT = PARAM_HEADER.encode("ascii")
_ROUTING = tuple(header.encode("ascii") for header in (VERSION_HEADER, METHOD_HEADER, NAME_HEADER, SESSION_HEADER))


@dataclass(slots=True)
class RoutingHeaders:
    """The headers that repeat a part of the body, and the one that names a session of the older era."""

    version: str | None = None
    method: str | None = None
    name: str | None = None
    session: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Those that repeat an argument of a tool, by what follows `Mcp-Param-` in lower case (SEP-2243)."""

    @classmethod
    def from_raw(cls, raw: Sequence[tuple[bytes, bytes]], headers: Mapping[bytes, bytes]) -> RoutingHeaders:
        """Picks them from HTTP headers with lower-case names: as they came, and by name.

        Raises:
            HeaderMismatch: one comes twice, so that two readers could see different values.
        """
        if len(raw) != len(headers):
            names = [name for name, _ in raw]
            for header in (*_ROUTING, *filter(_is_argument, headers)):
                if names.count(header) > 1:
                    raise HeaderMismatch(f"the header {header.decode('ascii')} comes twice")
        version, method, name, session = map(headers.get, _ROUTING)
        routing = cls(_text(version), _text(method), _text(name), _text(session))
        if any(map(_is_argument, headers)):
            routing.arguments = {
                header[len(_ARGUMENT) :].decode("latin-1"): _trimmed(value)
                for header, value in headers.items()
                if _is_argument(header)
            }
        return routing


def _is_argument(header: bytes) -> bool:
    return header.startswith(_ARGUMENT)


def _text(value: bytes | None) -> str | None:
    return None if value is None else _trimmed(value)


def _trimmed(value: bytes) -> str:
    return value.strip(b" \t").decode("latin-1")  # not every HTTP parser leaves out the white space around it


def era_of(request: Request, headers: RoutingHeaders | None) -> Era:
    """Says which era a request belongs to: the older one has neither the `_meta` nor the header of the new.

    Raises:
        UnsupportedVersion: the header names a version of no era.
    """
    if VERSION_META in request.meta or CAPABILITIES_META in request.meta:
        return "modern"
    version = None if headers is None else headers.version
    if version == VERSION:
        return "modern"
    if version is not None and version not in LEGACY_VERSIONS:
        raise UnsupportedVersion(version, (VERSION, *LEGACY_VERSIONS))
    return "legacy"


def session_of(message: Request | Notification | None, headers: RoutingHeaders | None) -> str | None:
    """Gives the session that a message of the older era names, or a GET or DELETE (None), which only it has.

    None where it names none, belongs to the new era, or is an `initialize`: that begins one, whatever it names.
    """
    if headers is None or headers.session is None or headers.version not in (None, *LEGACY_VERSIONS):
        return None
    if message is not None:
        meta = message.params.get("_meta")
        modern = isinstance(meta, dict) and not meta.keys().isdisjoint((VERSION_META, CAPABILITIES_META))
        if modern or message.method == INITIALIZE:
            return None
    return headers.session


def check(request: Request, headers: RoutingHeaders | None) -> None:
    """Demands that a modern request is complete and agrees with its headers (None: a transport without).

    Raises:
        InvalidParams: `_meta` lacks the version or the capabilities.
        HeaderMismatch: a header is missing or says something else.
        UnsupportedVersion: the version is not served in this era.
    """
    meta = request.meta
    missing = [key for key in (VERSION_META, CAPABILITIES_META) if key not in meta]
    if missing:
        raise InvalidParams(f"params._meta lacks {' and '.join(missing)}", reason="missing_meta")
    version: Any = meta[VERSION_META]
    if headers is not None and headers.version != version:
        raise HeaderMismatch(f"the header {VERSION_HEADER} is not the version in _meta")
    if not isinstance(version, str) or not isinstance(meta[CAPABILITIES_META], dict):
        raise InvalidParams("the version in _meta is a string, the capabilities are an object")
    if version != VERSION:
        raise UnsupportedVersion(version, (VERSION,))
    if headers is None:
        return
    if headers.method != request.method:
        raise HeaderMismatch(f"the header {METHOD_HEADER} is not the method {request.method!r}")
    named_by = NAMED_BY.get(request.method)
    if named_by is not None:
        named = request.params.get(named_by)
        if named is not None and decode_header(headers.name) != named:
            raise HeaderMismatch(f"the header {NAME_HEADER} is not params.{named_by}")


def encode_header(value: str) -> str:
    """Gives a header value for any text: itself where HTTP carries it unchanged, else marked base64."""
    marked = value.startswith(_PREFIX) and value.endswith(_SUFFIX)
    if value.isascii() and value.isprintable() and value == value.strip() and not marked:
        return value
    return f"{_PREFIX}{b64encode(value.encode('utf-8')).decode('ascii')}{_SUFFIX}"


def decode_header(value: str | None) -> str | None:
    """Gives the text that a header value stands for; None for no header, or base64 that is broken."""
    if value is None or not (value.startswith(_PREFIX) and value.endswith(_SUFFIX)):
        return value
    payload = value[len(_PREFIX) : -len(_SUFFIX)]
    try:
        raw = b64decode(payload, validate=True)
        return raw.decode("utf-8") if b64encode(raw).decode("ascii") == payload else None
    except (binascii.Error, UnicodeDecodeError):
        return None
