"""Appends over HTTP, for producers in another process: `POST …/upload?uri=U`, the body a text, bytes or a patch.

Query parameters, beside `uri`: `seal` (`complete` or `aborted`) seals in the same step; `digest` (`sha-256=:…:`)
demands that what is sealed has it; `producer`, `epoch`, `seq` number the append, so that it can be sent again
(SR-9.1); `revision` demands that the resource is at that revision (SR-9.2); `dropped` counts bytes that the
producer had to leave out before it. A resource that is not there is made, as a text or as what `kind` says.

`PUT …/upload?uri=U` puts the body in place of all content, for json a document (SR-2.4). The answer is `{"cursor",
"revision", "state"}`, or `{"error"}` in the form of JSON-RPC.

`GET …/upload?uri=U&producer=P` says where the resource stands, with `length` and, once it is sealed, `digest`; and
under `producer` the `epoch` and the next `seq` of P, where P has written, so that it goes on from there.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from streamres.errors import (
    DeltaError,
    InvalidParams,
    InvalidRequest,
    LimitExceeded,
    ResourceNotFound,
    StoreError,
    StreamresError,
)
from streamres.model import (
    KINDS,
    MIME_TYPES,
    Description,
    Kind,
    Utf8Decoder,
    encode_cursor,
)
from streamres.protocol.error_codes import UPLOAD_STATUS, code_of, data_of
from streamres.server import Reply
from streamres.sources.inflight import InFlight
from streamres.sources.upload_query import count_in, digest_in, number_in, query_of, seal_in
from streamres.transport.body import PeerGone, read_body, refuse_body
from streamres.transport.http import send_reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Receive, Scope, Send

    from streamres.limits import Limits
    from streamres.model import Head
    from streamres.sources.upload_query import Query
    from streamres.store import Store
    from streamres.transport import Guard

logger = logging.getLogger("streamres.upload")

RETRY_AFTER_S: Final = 1
"""What a producer is told to wait for that is refused for the moment."""

_LATER: Final = [(b"retry-after", b"%d" % RETRY_AFTER_S)]


class Upload:
    """The upload endpoint over one store."""

    def __init__(self, store: Store, limits: Limits, guard: Guard) -> None:
        self.in_flight = InFlight(limits)
        self._store = store
        self._limits = limits
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Makes one append or replacement, or none, and answers where the resource stands after it (ASGI 3)."""
        headers = dict(scope["headers"])
        refusal = self._guard.refusal(headers.get(b"host"), headers.get(b"origin"))
        if refusal is not None:
            await _answer(send, self._refused(scope, InvalidRequest(refusal), 403))
            return
        if scope["method"] not in ("POST", "PUT"):
            await _answer(send, await self._reply(scope, b""))
            return
        try:
            with self.in_flight.admitted() as held:
                # All or nothing: an append whose body was cut is none.
                body = await read_body(headers, receive, held, append_bytes=self._limits.append_bytes)
                reply = await self._reply(scope, body)
        except LimitExceeded as exc:
            refused = self._refused(scope, exc)
            await refuse_body(receive, send, refused.body, status=refused.status, also=_also(refused))
        except PeerGone:
            return
        else:
            await _answer(send, reply)

    async def _reply(self, scope: Scope, body: bytes) -> Reply:
        query = query_of(scope["query_string"])
        try:
            match scope["method"]:
                case "POST":
                    answer = await self._append(query, body)
                    self.in_flight.taken += 1
                case "PUT":
                    answer = await self._replace(query, body)
                    self.in_flight.taken += 1
                case _:
                    answer = await self._stand(query)
        except StreamresError as exc:
            return self._refused(scope, exc)
        return Reply(orjson.dumps(answer))

    def _refused(self, scope: Scope, exc: StreamresError, status: int | None = None) -> Reply:
        reason = _reason(exc)
        if scope["method"] in ("POST", "PUT"):
            self.in_flight.refused[reason] += 1
        if isinstance(exc, StoreError):
            logger.error("the store failed: %s", exc, extra={"event": "store_error", "method": "upload"})
        elif scope["method"] != "GET":
            logger.info("upload refused: %s", exc, extra={"event": "upload_refused", "reason": reason})
        if status is None:
            status = UPLOAD_STATUS.get(type(exc), 400)
        return Reply(orjson.dumps(_error(exc)), status)

    async def _stand(self, query: Query) -> dict[str, Any]:
        uri = query.get("uri", "")
        head = (await self._store.entry(uri)).head
        answer = _standing(uri, head) | {"length": head.position.length}
        if head.digest is not None:
            answer["digest"] = head.digest
        if (producer := query.get("producer")) is not None:
            standing = await self._store.producer(uri, producer)
            if standing is not None:
                answer["producer"] = {"epoch": standing.epoch, "seq": standing.next_seq}
        return answer

    async def _append(self, query: Query, body: bytes) -> dict[str, Any]:
        uri = query.get("uri", "")
        number = number_in(query)
        expected = count_in(query, "revision") if "revision" in query else None
        seal = seal_in(query)
        digest = digest_in(query, seal)
        dropped = count_in(query, "dropped") if "dropped" in query else 0
        what = await self._meant(uri, query.get("kind"))
        data = _whole_text(body, final=seal is not None) if what.kind == "text" else body
        head = await self._store.append(
            uri,
            data,
            seal=seal,
            number=number,
            expected_revision=expected,
            expected_digest=digest,
            create=what,
        )
        self.in_flight.dropped_bytes += dropped
        return _standing(uri, head)

    async def _replace(self, query: Query, body: bytes) -> dict[str, Any]:
        uri = query.get("uri", "")
        if set(query) - {"uri", "kind"}:
            raise InvalidParams("PUT replaces all content; beside uri it takes kind alone")
        what = await self._meant(uri, query.get("kind"))
        data = _whole_text(body, final=True) if what.kind == "text" else body
        try:
            there = (await self._store.entry(uri)).description.kind
            if what.kind != there:
                raise DeltaError(f"{uri!r} is there, and its kind is {there}, not {what.kind}")
            head = await self._store.replace(uri, data)
        except ResourceNotFound:
            head = await self._store.create(what, data)
        return _standing(uri, head)

    async def _meant(self, uri: str, asked: str | None) -> Description:
        """What the resource is to be: of the kind that is asked for, else of that which is there."""
        if asked is not None:
            for kind in KINDS:
                if asked == kind:
                    return _described(uri, kind)
            raise InvalidParams(f"kind is one of {', '.join(KINDS)}")
        try:
            return _described(uri, (await self._store.entry(uri)).description.kind)
        except ResourceNotFound:
            return _described(uri, "text")


@lru_cache(maxsize=1024)
def _described(uri: str, kind: Kind) -> Description:
    return Description(uri=uri, name=uri, kind=kind, mime_type=MIME_TYPES[kind])


def _standing(uri: str, head: Head) -> dict[str, Any]:
    position = head.position
    return {"cursor": encode_cursor(position, uri), "revision": position.revision, "state": head.state}


def _whole_text(body: bytes, *, final: bool) -> bytes:
    if body.isascii():
        return body
    decoder = Utf8Decoder()
    text = decoder.decode(body, final=final)
    if decoder.holds_back:
        raise DeltaError("the body ends inside a code point; send whole ones")
    return text


def _error(exc: StreamresError) -> dict[str, Any]:
    return {"error": {"code": code_of(exc), "message": str(exc), "data": data_of(exc)}}


def _reason(exc: StreamresError) -> str:
    match data_of(exc):
        case {"reason": str(reason), "limit": str(limit)}:
            return f"{reason}:{limit}"
        case {"reason": str(reason)}:
            return reason
        case _:
            return type(exc).__name__


async def _answer(send: Send, reply: Reply) -> None:
    await send_reply(send, reply, _also(reply))


def _also(reply: Reply) -> Sequence[tuple[bytes, bytes]]:
    return _LATER if reply.status == 503 else ()
