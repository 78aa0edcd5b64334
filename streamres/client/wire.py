"""What servers answer, read into values. A server is a stranger: what is malformed is said, not guessed."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamres.errors import (
    CursorInvalid,
    DeltaError,
    LimitExceeded,
    ProtocolError,
    ResourceNotFound,
    RpcError,
    StreamresError,
)
from streamres.model import Update
from streamres.model.json_value import parse_json
from streamres.model.patch import operations_of
from streamres.model.reassembler import READER
from streamres.protocol.error_codes import INVALID_PARAMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.model import State

_LEGACY_NOT_FOUND = -32002


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A resource in a server's list; `kind`, `state` and `revision` are None where it is not a streamable one."""

    uri: str
    name: str
    mime_type: str | None = None
    size: int | None = None
    kind: str | None = None
    state: State | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """A notification that a resource changed: at least `cursor` exists, and `update` leads there if it came along.

    From a server that does not know the extension, only `uri` is there.
    """

    uri: str
    cursor: str | None = None
    revision: int | None = None
    state: State | None = None
    update: Update | None = None


@dataclass(frozen=True, slots=True)
class ListChanged:
    """A notification that the list of resources is another one."""


@dataclass(frozen=True, slots=True)
class ToolsChanged:
    """A notification that the list of tools is another one."""


def read_update(uri: str, result: Mapping[str, Any]) -> Update:
    """Gives the step that a read's result holds.

    Raises:
        ProtocolError: the result is not that of a server with the extension.
    """
    try:
        if "delta" in result:
            return _delta(result, result["delta"])
        if "cursor" not in result:
            raise ProtocolError(f"the server gave no cursor for {uri!r}: it does not offer streamable resources")
        (item,) = result["contents"]
        return Update(
            **_snapshot(result, item),
            cursor=_text(result["cursor"]),
            revision=int(result["revision"]),
            state=_state(result["state"]),
            reset=result.get("reset"),
            start=int(result.get("start", 0)),
            digest=result.get("digest"),
            more=bool(result.get("more", False)),
        )
    except (KeyError, TypeError, ValueError, DeltaError, LimitExceeded) as exc:
        raise ProtocolError(f"the answer for {uri!r} is malformed: {exc!r}") from exc


def updated(params: Mapping[str, Any]) -> Updated:
    """Gives the event of a `notifications/resources/updated`.

    Raises:
        ProtocolError: it is malformed.
    """
    try:
        uri = _text(params["uri"])
        if "cursor" not in params:
            return Updated(uri=uri)
        return Updated(
            uri=uri,
            cursor=_text(params["cursor"]),
            revision=int(params["revision"]),
            state=_state(params["state"]),
            update=_delta(params, params["delta"]) if "delta" in params else None,
        )
    except (KeyError, TypeError, ValueError, DeltaError, LimitExceeded) as exc:
        raise ProtocolError(f"a notification is malformed: {exc!r}") from exc


def acknowledged(params: Mapping[str, Any]) -> dict[str, str | None]:
    """Gives the cursor of each stream that a subscription's acknowledgement names; None for one that is not there.

    Raises:
        ProtocolError: it is malformed.
    """
    try:
        streams = params["notifications"].get("resourceStreams", {})
        return {uri: stream.get("cursor") for uri, stream in streams.items()}
    except (KeyError, AttributeError) as exc:
        raise ProtocolError(f"an acknowledgement is malformed: {exc!r}") from exc


def list_page(result: Mapping[str, Any]) -> tuple[list[Listed], str | None]:
    """Gives the entries of one page of a list, and the cursor of the next page.

    Raises:
        ProtocolError: it is malformed.
    """
    resources, cursor = result.get("resources"), result.get("nextCursor")
    if not isinstance(resources, list) or not (cursor is None or isinstance(cursor, str)):
        raise ProtocolError("the list is malformed")
    return [listed(entry) for entry in resources], cursor


def listed(entry: Mapping[str, Any]) -> Listed:
    """Gives the resource of an entry in a list, or of a link.

    Raises:
        ProtocolError: it is malformed.
    """
    try:
        stream = entry.get("stream") or {}
        return Listed(
            uri=_text(entry["uri"]),
            name=_text(entry["name"]),
            mime_type=entry.get("mimeType"),
            size=entry.get("size"),
            kind=stream.get("kind"),
            state=_state(stream["state"]) if "state" in stream else None,
            revision=stream.get("revision"),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise ProtocolError(f"an entry of the list is malformed: {exc!r}") from exc


def rpc_error(error: Mapping[str, Any], uri: str | None) -> StreamresError:
    """Gives the exception for an error reply to a request about `uri`."""
    code, message, data = error.get("code", 0), str(error.get("message", "")), error.get("data")
    details = data if isinstance(data, dict) else {}
    about = uri or details.get("uri")
    if isinstance(about, str):
        if code == _LEGACY_NOT_FOUND or (code == INVALID_PARAMS and details == {"uri": about}):
            return ResourceNotFound(about)
        if code == INVALID_PARAMS and details.get("reason") == "invalid_cursor":
            return CursorInvalid(about)
    return RpcError(code, message, data)


def _delta(members: Mapping[str, Any], delta: Mapping[str, Any]) -> Update:
    return Update(
        **_content(delta["kind"], delta),
        since=_text(delta["from"]),
        cursor=_text(delta["to"]),
        revision=int(members["revision"]),
        state=_state(members["state"]),
        digest=members.get("digest"),
        causes=_causes(delta.get("cause", [])),
        more=bool(members.get("more", False)),
    )


def _causes(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(map(_text, value))
    raise ValueError(f"the cause {value!r} is not a list")


def _snapshot(result: Mapping[str, Any], item: Mapping[str, Any]) -> dict[str, Any]:
    if result.get("kind") != "json":
        return _content("blob" if "blob" in item else "text", item)
    return {"kind": "json", "value": parse_json(_text(item["text"]).encode("utf-8"), max_depth=READER.json_depth)}


def _content(kind: object, holder: Mapping[str, Any]) -> dict[str, Any]:
    """The members of an `Update` that hold its content."""
    match kind:
        case "text":
            return {"text": _text(holder["text"])}
        case "blob":
            return {"kind": "blob", "blob": b64decode(_text(holder["blob"]), validate=True)}
        case "json":
            return {"kind": "json", "patch": operations_of(holder["patch"], READER)}
        case _:
            raise ValueError(f"content of kind {kind!r}")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"{value!r} is not a string")


def _state(value: object) -> State:
    if value in ("open", "complete", "aborted"):
        return value
    raise ValueError(f"{value!r} is not a state")
