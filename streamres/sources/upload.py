"""Appends over HTTP, for producers in another process: `POST …/upload?uri=U`, the body a text, bytes or a patch.

Query parameters, beside `uri`: `seal` (`complete` or `aborted`) seals in the same step; `producer`, `epoch`, `seq`
number the append, so that it can be sent again (SR-9.1); `revision` demands that the resource is at that revision
(SR-9.2). A resource that is not there is made, as a text or as what `kind` says.

`PUT …/upload?uri=U` puts the body in place of all content, for json a document (SR-2.4). The answer is `{"cursor",
"revision", "state"}`, or `{"error"}` in the form of JSON-RPC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from starlette.datastructures import QueryParams
from starlette.responses import Response

from streamres.errors import (
    DeltaError,
    InvalidParams,
    InvalidRequest,
    LimitExceeded,
    ResourceNotFound,
    StreamresError,
)
from streamres.model import (
    KINDS,
    MIME_TYPES,
    SEALS,
    AppendNumber,
    Description,
    Kind,
    Seal,
    Utf8Decoder,
    encode_cursor,
)
from streamres.protocol.error_codes import UPLOAD_STATUS, code_of, data_of
from streamres.transport.http import PeerGone, read_body, refuse_body

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from streamres.limits import Limits
    from streamres.model import Head
    from streamres.store import Store
    from streamres.transport import Guard


class Upload:
    """The upload endpoint over one store."""

    def __init__(self, store: Store, limits: Limits, guard: Guard) -> None:
        self._store = store
        self._limits = limits
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Makes one append or replacement and answers where the resource stands after it (ASGI 3)."""
        headers = dict(scope["headers"])
        refusal = self._guard.refusal(headers.get(b"host"), headers.get(b"origin"))
        if refusal is not None:
            response = _answer(403, _error(InvalidRequest(refusal)))
            await response(scope, receive, send)
            return
        try:
            # All or nothing: an append whose body was cut is none.
            body = await read_body(headers, receive, append_bytes=self._limits.append_bytes)
        except LimitExceeded as exc:
            await refuse_body(receive, send, orjson.dumps(_error(exc)))
            return
        except PeerGone:
            return
        try:
            write = self._replace if scope["method"] == "PUT" else self._append
            response = _answer(200, await write(QueryParams(scope["query_string"]), body))
        except StreamresError as exc:
            response = _answer(UPLOAD_STATUS.get(type(exc), 400), _error(exc))
        await response(scope, receive, send)

    async def _append(self, query: QueryParams, body: bytes) -> dict[str, Any]:
        uri = query.get("uri", "")
        number = None
        if any(name in query for name in ("producer", "epoch", "seq")):
            if "producer" not in query:
                raise InvalidParams("epoch and seq number the appends of a producer")
            number = AppendNumber(
                producer=query["producer"], epoch=_count(query, "epoch"), seq=_count(query, "seq")
            )
        expected = _count(query, "revision") if "revision" in query else None
        seal = _seal(query.get("seal"))
        kind = await self._kind(uri, query.get("kind"))
        what = Description(uri=uri, name=uri, kind=kind, mime_type=MIME_TYPES[kind])
        data = _whole_text(body, final=seal is not None) if kind == "text" else body
        head = await self._store.append(
            uri, data, seal=seal, number=number, expected_revision=expected, create=what
        )
        return _standing(uri, head)

    async def _replace(self, query: QueryParams, body: bytes) -> dict[str, Any]:
        uri = query.get("uri", "")
        if set(query) - {"uri", "kind"}:
            raise InvalidParams("PUT replaces all content; beside uri it takes kind alone")
        kind = await self._kind(uri, query.get("kind"))
        what = Description(uri=uri, name=uri, kind=kind, mime_type=MIME_TYPES[kind])
        data = _whole_text(body, final=True) if kind == "text" else body
        try:
            head = await self._store.replace(uri, data)
        except ResourceNotFound:
            head = await self._store.create(what, data)
        return _standing(uri, head)

    async def _kind(self, uri: str, asked: str | None) -> Kind:
        """The kind of the resource that is there, or of the one to be made."""
        for kind in KINDS:
            if asked == kind:
                break
        else:
            if asked is not None:
                raise InvalidParams(f"kind is one of {', '.join(KINDS)}")
            kind = "text"
        try:
            there = (await self._store.entry(uri)).description.kind
        except ResourceNotFound:
            return kind
        if asked is not None and asked != there:
            raise InvalidParams(f"the resource is there, and its kind is {there}")
        return there


def _standing(uri: str, head: Head) -> dict[str, Any]:
    position = head.position
    return {"cursor": encode_cursor(position, uri), "revision": position.revision, "state": head.state}


def _whole_text(body: bytes, *, final: bool) -> bytes:
    decoder = Utf8Decoder()
    text = decoder.decode(body, final=final)
    if decoder.holds_back:
        raise DeltaError("the body ends inside a code point; send whole ones")
    return text


def _seal(value: str | None) -> Seal | None:
    if value is None:
        return None
    for seal in SEALS:
        if value == seal:
            return seal
    raise InvalidParams('seal is "complete" or "aborted"')


def _count(query: QueryParams, name: str) -> int:
    value = query.get(name, "")
    if not value.isascii() or not value.isdigit() or len(value) > 18:
        raise InvalidParams(f"{name} is an integer, at least 0")
    return int(value)


def _error(exc: StreamresError) -> dict[str, Any]:
    return {"error": {"code": code_of(exc), "message": str(exc), "data": data_of(exc)}}


def _answer(status: int, body: dict[str, Any]) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")
