"""The results and notifications that a server sends, built once as bytes around the text they carry.

A large text is not joined into its message: the message is made with a NUL byte in the text's place, which JSON
has nowhere else, and cut in two there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from streamres.model import Patch, Snapshot, encode_cursor
from streamres.protocol.blocks import entry_members
from streamres.protocol.text import escaped
from streamres.protocol.words import (
    ACKNOWLEDGED,
    LIST_CHANGED,
    SERVER_INFO_META,
    STREAM_META,
    SUBSCRIPTION_META,
    UPDATED,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streamres.model import Delta, Entry, Head, Reading, State
    from streamres.protocol.binding import Binding, Deliver
    from streamres.protocol.jsonrpc import RequestId

PATCH_MIME_TYPE: Final = "application/json-patch+json"

_GAP = orjson.Fragment(b"\x00")
_TEXT_GAP = orjson.Fragment(b'"\x00"')

Halves = tuple[bytes, bytes]
"""A message with a gap: what comes before it and after it."""


class Messages:
    """Makes the messages of one server, which names itself in every result."""

    def __init__(self, *, name: str, version: str) -> None:
        self._about: dict[str, Any] = {SERVER_INFO_META: {"name": name, "version": version}}

    def result(
        self,
        request_id: RequestId,
        members: Mapping[str, Any],
        *,
        ttl_ms: int | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Gives a result, complete unless `members` say otherwise; `ttl_ms` for those that a client may cache."""
        return orjson.dumps(self._response(request_id, {**members, **_caching(ttl_ms)}, meta))

    def resource_list(
        self,
        request_id: RequestId,
        entries: Iterable[Entry],
        *,
        next_cursor: str | None,
        binding: Binding | None,
    ) -> bytes:
        """Gives one page of `resources/list`; with a binding, each entry says where its stream stands (SR-8.1)."""
        members: dict[str, Any] = {"resources": [entry_members(entry, binding) for entry in entries]}
        if next_cursor is not None:
            members["nextCursor"] = next_cursor
        return self.result(request_id, members, ttl_ms=0)

    def template_list(self, request_id: RequestId, entries: Iterable[Entry], *, next_cursor: str | None) -> bytes:
        """Gives one page of `resources/templates/list`: how to read each resource since a cursor (SR-10.4)."""
        templates: list[dict[str, Any]] = []
        for entry in entries:
            what = entry.description
            operator = "&" if "?" in what.uri else "?"
            template = f"{what.uri}{{{operator}since,maxBytes}}"
            templates.append({"uriTemplate": template, "name": what.name, "mimeType": what.mime_type})
        members: dict[str, Any] = {"resourceTemplates": templates}
        if next_cursor is not None:
            members["nextCursor"] = next_cursor
        return self.result(request_id, members, ttl_ms=0)

    def read(
        self, request_id: RequestId, entry: Entry, reading: Reading, *, binding: Binding | None, asked: str
    ) -> Halves:
        """Gives the result of `resources/read` with a gap for the JSON text of the reading (SR-5).

        In the binding `uri`, `asked` is the URI that was read, and even a delta stands in `contents` (SR-10.4).
        """
        uri, kind = entry.description.uri, entry.description.kind
        step = reading.step
        members: dict[str, Any] = {}
        contents: list[dict[str, Any]] = []
        if binding is not None:
            cursor = encode_cursor(step.stop, uri)
            members = _standing(cursor, step.stop.revision, reading.state, reading.digest)
            if reading.reset is not None:
                members["reset"] = reading.reset
            if reading.more:
                members["more"] = True
        if not isinstance(step, Snapshot):
            members["delta"] = {
                "from": encode_cursor(step.start, uri),
                "to": members["cursor"],
                "kind": kind,
                **_caused(reading),
            }
        elif step.begin:
            members["start"] = step.begin
        if binding is not None and isinstance(step, Snapshot) and kind == "json":
            members["kind"] = kind
        if not isinstance(step, Snapshot) and binding != "uri":
            members["delta"] |= {"patch": _GAP} if isinstance(step, Patch) else {kind: _TEXT_GAP}
        else:
            item = {
                "uri": asked,
                "mimeType": PATCH_MIME_TYPE if isinstance(step, Patch) else entry.description.mime_type,
                "blob" if kind == "blob" else "text": _TEXT_GAP,
            }
            contents.append(item if binding != "uri" else {**item, "_meta": {STREAM_META: members}})
        # SR-5.9: an open resource or a delta is never cached, nor is a snapshot that a URI could get anew.
        result = {"contents": contents, **_caching(0)}
        if binding == "meta":
            message = self._response(request_id, result, {STREAM_META: members})
        elif binding == "uri":
            message = self._response(request_id, result)
        else:
            message = self._response(request_id, {**result, **members})
        return _cut(orjson.dumps(message))

    def _response(
        self, request_id: RequestId, members: Mapping[str, Any], meta: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        about = self._about if meta is None else {**self._about, **meta}
        result = {"resultType": "complete", **members, "_meta": about}
        return {"jsonrpc": "2.0", "id": request_id, "result": result}

    def listen_result(self, request_id: RequestId) -> bytes:
        """Gives the result that ends a subscription in order."""
        return orjson.dumps(self._response(request_id, {}, {SUBSCRIPTION_META: request_id}))


def acknowledged(
    request_id: RequestId,
    notifications: Mapping[str, Any],
    streams: Mapping[str, Mapping[str, Any]],
    binding: Binding | None,
) -> bytes:
    """Gives the first message of a subscription: what of the filter is honoured, and where each stream stands."""
    meta: dict[str, Any] = {SUBSCRIPTION_META: request_id}
    honoured = dict(notifications)
    if binding == "meta":
        meta[STREAM_META] = {"resourceStreams": streams}
    elif binding == "fields":
        honoured["resourceStreams"] = streams
    return _notification(ACKNOWLEDGED, {"_meta": meta, "notifications": honoured})


def stream_state(uri: str, head: Head | None, deliver: Deliver) -> dict[str, Any]:
    """Gives the acknowledgement of one watched stream; without a cursor while there is no such resource."""
    if head is None:
        return {"deliver": deliver}
    cursor = encode_cursor(head.position, uri)
    return {"cursor": cursor, "revision": head.position.revision, "state": head.state, "deliver": deliver}


def list_changed(request_id: RequestId | None) -> bytes:
    """Gives the notification that the list of resources changed; in a session of the older era without an id."""
    return _notification(LIST_CHANGED, {} if request_id is None else {"_meta": {SUBSCRIPTION_META: request_id}})


def updated(uri: str, members: Mapping[str, Any], binding: Binding | None, *, in_session: bool = False) -> Halves:
    """Gives the notification that a resource changed, with a gap for the JSON of the subscription's id (SR-6).

    In a session of the older era there is no such id, nor a gap: all of the message is before it.
    """
    meta: dict[str, Any] = {} if in_session else {SUBSCRIPTION_META: _GAP}
    params: dict[str, Any] = {"_meta": meta, "uri": uri}
    if binding == "meta":
        meta[STREAM_META] = members
    elif binding == "fields":
        params |= members
    return _cut(_notification(UPDATED, params))


def at_head(uri: str, head: Head) -> dict[str, Any]:
    """Gives the members of a notification that says where the resource stands."""
    cursor = encode_cursor(head.position, uri)
    return _standing(cursor, head.position.revision, head.state, head.digest)


def with_delta(uri: str, reading: Reading, step: Delta, encoded: bytes) -> dict[str, Any]:
    """Gives the members of a notification that carries the step; `encoded` is its patch or unquoted string."""
    payload: dict[str, Any]
    if isinstance(step, Patch):
        payload = {"kind": "json", **_caused(reading), "patch": orjson.Fragment(encoded)}
    else:
        kind = step.content.kind
        payload = {"kind": kind, **_caused(reading), kind: orjson.Fragment(b'"' + encoded + b'"')}
    cursor = encode_cursor(step.stop, uri)
    members = _standing(cursor, step.stop.revision, reading.state, reading.digest)
    members["delta"] = {
        "from": encode_cursor(step.start, uri),
        "to": cursor,
        **payload,
    }
    return members


def encoded_patch(step: Patch, binding: Binding | None) -> bytes:
    """Gives what fills the gap of a read's result: JSON as it is, or in the binding `uri` inside a string."""
    return escaped(step.operations) if binding == "uri" else step.operations


def _standing(cursor: str, revision: int, state: State, digest: str | None) -> dict[str, Any]:
    members: dict[str, Any] = {"cursor": cursor, "revision": revision, "state": state}
    if digest is not None:
        members["digest"] = digest
    return members


def _caused(reading: Reading) -> dict[str, Any]:
    """The member of a delta that names what led to it (SR-8.4.a)."""
    return {"cause": reading.causes} if reading.causes else {}


def _caching(ttl_ms: int | None) -> dict[str, Any]:
    return {} if ttl_ms is None else {"ttlMs": ttl_ms, "cacheScope": "private"}


def _notification(method: str, params: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params})


def _cut(message: bytes) -> Halves:
    before, _, after = message.partition(b"\x00")
    return before, after
