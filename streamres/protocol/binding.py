"""Where the members of the extension stand in a request: in the open (`fields`) or in `_meta` (SR-10).

A request that carries a member has asked for that place in its answer. One that carries none but comes from a
client that declared the extension gets the place that was declared. Any other gets plain MCP.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl

from streamres.errors import CursorInvalid, InvalidParams
from streamres.protocol.words import CAPABILITIES_META, EXTENSION, STREAM_META

Binding = Literal["fields", "meta", "uri"]
"""`uri` is asked for by a URI of its own alone, and answers reads only."""
Deliver = Literal["cursor", "delta"]

_MEMBER = r"(?:since|maxBytes)=[^&]{0,64}"
_EXPANDED = re.compile(rf"(?P<uri>.+?)[?&](?P<query>{_MEMBER}(?:&{_MEMBER})*)")
_READ_MEMBERS = frozenset({"since", "maxBytes", "waitMs", "tailBytes"})
_LISTEN_MEMBERS = frozenset({"resourceStreams"})
_CALL_MEMBERS = frozenset({"basis"})


@dataclass(slots=True, kw_only=True)
class ReadRequest:
    """What a read asks for beyond the URI; `binding` is None for plain MCP."""

    binding: Binding | None
    since: str | None = None
    max_bytes: int | None = None
    wait_ms: int = 0
    tail_bytes: int | None = None
    append_op: bool = False
    """The reader takes the patch operation `append` (SR-2.5)."""


def uri_request(uri: str) -> tuple[str, ReadRequest] | None:
    """Gives the resource and the request that a URI made from a template stands for; None for others (SR-10.4).

    Raises:
        InvalidParams: `maxBytes` is no number.
    """
    found = _EXPANDED.fullmatch(uri)
    if found is None:
        return None
    members = dict(parse_qsl(found["query"]))
    if "maxBytes" in members and not (members["maxBytes"].isascii() and members["maxBytes"].isdigit()):
        raise InvalidParams("maxBytes is an integer, at least 1")
    counts = {name: int(value) for name, value in members.items() if name == "maxBytes"}
    max_bytes = _count(counts, "maxBytes", least=1)
    return found["uri"], ReadRequest(binding="uri", since=members.get("since"), max_bytes=max_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFilter:
    """What a subscription asks for one resource."""

    since: str | None = None
    deliver: Deliver = "cursor"


class Form(NamedTuple):
    """The form of the answers that a reader gets: the place of the members, and what patches may hold."""

    binding: Binding | None = None
    append_op: bool = False


def read_request(params: dict[str, Any]) -> ReadRequest:
    """Gives what a `resources/read` asks for.

    Raises:
        CursorInvalid: `since` is not even a string (SR-5.6).
        InvalidParams: another member has the wrong type or is out of range, or two exclude each other.
    """
    binding, members = _members(params, params, _READ_MEMBERS)
    append_op = binding is not None and _append_op(params)
    if not members:
        return ReadRequest(binding=binding, append_op=append_op)
    since = _cursor(members.get("since"), str(params.get("uri")))
    request = ReadRequest(
        binding=binding,
        since=since,
        max_bytes=_count(members, "maxBytes", least=1),
        wait_ms=_count(members, "waitMs", least=0) or 0,
        tail_bytes=_count(members, "tailBytes", least=0),
        append_op=append_op,
    )
    if since is not None and request.tail_bytes is not None:
        raise InvalidParams("tailBytes is for a read without since")
    return request


def listen_request(params: dict[str, Any]) -> tuple[Form, dict[str, StreamFilter]]:
    """Gives the form of the notifications and the `resourceStreams` of a `subscriptions/listen` (section 7).

    Raises:
        CursorInvalid: a `since` is not even a string (SR-7.6).
        InvalidParams: another member has the wrong type.
    """
    notifications = params.get("notifications")
    if not isinstance(notifications, dict):
        raise InvalidParams("params.notifications is an object")
    binding, members = _members(params, notifications, _LISTEN_MEMBERS)
    streams = {} if (asked := members.get("resourceStreams")) is None else asked
    if not isinstance(streams, dict):
        raise InvalidParams("resourceStreams maps a URI to an object")
    form = Form(binding=binding, append_op=binding is not None and _append_op(params))
    return form, {uri: _stream_filter(uri, wanted) for uri, wanted in streams.items()}


def _stream_filter(uri: str, wanted: object) -> StreamFilter:
    if not isinstance(wanted, dict):
        raise InvalidParams("resourceStreams maps a URI to an object")
    match wanted.get("deliver", "cursor"):
        case "cursor" | "delta" as deliver:
            return StreamFilter(since=_cursor(wanted.get("since"), uri), deliver=deliver)
        case _:
            raise InvalidParams('deliver is "cursor" or "delta"')


def _members(
    params: dict[str, Any], open_place: dict[str, Any], names: frozenset[str]
) -> tuple[Binding | None, dict[str, Any]]:
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    in_meta = meta.get(STREAM_META)
    if in_meta is not None:
        if not isinstance(in_meta, dict):
            raise InvalidParams(f"_meta[{STREAM_META!r}] is an object")
        return "meta", in_meta
    if not names.isdisjoint(open_place):
        return "fields", open_place
    return _declared(meta), {}


def _settings(meta: object) -> object:
    """What the client declared for the extension; None if it did not."""
    capabilities = meta.get(CAPABILITIES_META) if isinstance(meta, dict) else None
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    return extensions.get(EXTENSION) if isinstance(extensions, dict) else None


def _append_op(params: dict[str, Any]) -> bool:
    settings = _settings(params.get("_meta"))
    wanted = settings.get("patchOps") if isinstance(settings, dict) else None
    if wanted is not None and not isinstance(wanted, list):
        raise InvalidParams(f'the setting "patchOps" of {EXTENSION} is a list of operations')
    return wanted is not None and "append" in wanted


def _declared(meta: dict[str, Any]) -> Binding | None:
    settings = _settings(meta)
    if settings is None:
        return None
    asked = settings.get("binding", "fields") if isinstance(settings, dict) else None
    match asked:
        case "fields" | "meta":
            return "meta" if asked == "meta" else "fields"
        case _:
            raise InvalidParams(f'the setting "binding" of {EXTENSION} is "fields" or "meta"')


def call_request(params: dict[str, Any]) -> tuple[Form, str | None]:
    """Gives the form of what a call of a tool leads to, and the cursor that its caller had seen (SR-8.4).

    Raises:
        CursorInvalid: `basis` is not even a string.
        InvalidParams: a setting has the wrong type.
    """
    binding, members = _members(params, params, _CALL_MEMBERS)
    form = Form(binding=binding, append_op=binding is not None and _append_op(params))
    return form, _cursor(members.get("basis"), "basis")


def takes_partials(params: dict[str, Any]) -> bool:
    """Says whether a client takes SEP-2998 partials: by the capability, or a setting of ours (SR-11.3)."""
    meta = params.get("_meta")
    capabilities = meta.get(CAPABILITIES_META) if isinstance(meta, dict) else None
    if isinstance(capabilities, dict) and isinstance(capabilities.get("partialResults"), dict):
        return True
    settings = _settings(meta)
    return isinstance(settings, dict) and settings.get("partialResults") is True


def binding_of(params: dict[str, Any]) -> Binding | None:
    """Gives the place for the answer to a request that has no member of the extension of its own."""
    return _members(params, {}, frozenset())[0]


def _cursor(value: object, uri: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise CursorInvalid(uri)


def _count(members: dict[str, Any], name: str, *, least: int) -> int | None:
    value = members.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidParams(f"{name} is an integer, at least {least}")
    return value
