"""The server that people use: a store, the methods over it, and the transport, put together."""

from __future__ import annotations

import json
import os
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import anyio
from starlette.routing import Route, Router

from streamres.errors import DeltaError
from streamres.limits import Limits
from streamres.model import MIME_TYPES, Audience, Description, Kind, Snapshot, Utf8Decoder, encode_cursor
from streamres.model.json_value import JsonValue, encode_given, encode_json
from streamres.observe import (
    HEALTH_PATH,
    METRICS_PATH,
    Health,
    Metrics,
    Numbers,
    ObservedStore,
    spans,
)
from streamres.server import Dispatcher
from streamres.sources.difference import difference
from streamres.sources.upload import Upload
from streamres.store import MemoryStore
from streamres.transport import Guard, HttpEndpoint, StdioPeer, bind, claim_standard_streams, origin_of, serving

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Collection, Mapping, Sequence

    from streamres.model import Head, Seal, State
    from streamres.store import Store

MCP_PATH = "/mcp"
UPLOAD_PATH = "/upload"

_DRAIN_S: Final = 10.0
_QUIET_S: Final = 0.25
"""A reader that asks for nothing for so long has what it wants: pages of one catch-up follow at once."""


class Resource:
    """The producer's hold on one streamable resource; made by `Server.create`."""

    def __init__(self, what: Description, store: Store, head: Head) -> None:
        self.uri = what.uri
        """The resource's URI."""
        self.kind = what.kind
        """`text`, `blob` or `json`."""
        self._store = store
        self._head = head
        self._decoder = Utf8Decoder()

    @property
    def cursor(self) -> str:
        """The cursor after this producer's last change."""
        return encode_cursor(self._head.position, self.uri)

    @property
    def revision(self) -> int:
        """The revision after this producer's last change."""
        return self._head.position.revision

    @property
    def state(self) -> State:
        """`open` until this producer seals."""
        return self._head.state

    @property
    def replaced_bytes(self) -> int:
        """Bytes handed to `append` that were not UTF-8 and stand as U+FFFD (SR-2.1)."""
        return self._decoder.replaced

    async def append(self, data: str | bytes) -> None:
        """Adds text, or bytes. Of bytes for a text, a code point cut at the end waits for the rest (SR-2.1).

        Raises:
            ResourceSealed: the resource is sealed.
            DeltaError: the text has a lone surrogate, which no UTF-8 has.
            LimitExceeded: more than `Limits.append_bytes` at once.
        """
        if self.kind == "json":
            raise DeltaError("a json resource is changed by patch or set")
        await self._append(_encoded(data))

    async def patch(self, operations: Sequence[Mapping[str, Any]]) -> None:
        """Changes the document of a json resource: all of the operations, or none (SR-2.3).

        They are those of RFC 6902, and `{"op": "append", "path": P, "value": S}` for a string that grows (SR-2.5).

        Raises:
            ResourceSealed: the resource is sealed.
            DeltaError: it is no patch, or one that cannot be applied; the document is as it was.
            LimitExceeded: `json_bytes`, `json_depth` or `patch_ops`; the document is as it was.
        """
        if self.kind != "json":
            raise DeltaError(f"a {self.kind} resource takes no patches")
        self._head = await self._store.append(self.uri, encode_given(operations))

    async def set(self, value: JsonValue) -> None:
        """Makes the document of a json resource equal to `value`, by a patch that is found by comparing the two.

        To state the operations with `patch` is cheaper, and says more.

        Raises: as `patch`; RevisionConflict where another producer changes the document meanwhile.
        """
        reading = await self._store.read(self.uri)
        before = json.loads(b"".join(reading.step.slices())) if isinstance(reading.step, Snapshot) else None
        patch = encode_json(difference(before, value))
        self._head = await self._store.append(self.uri, patch, expected_revision=reading.step.stop.revision)

    async def replace(self, content: str | bytes | JsonValue) -> None:
        """Puts other content in place of all there is: readers get a new snapshot, never a delta (SR-2.4).

        For json `content` is a value, else text or bytes.

        Raises: as `append` or `patch`; DeltaError also where bytes for a text are not UTF-8.
        """
        data = encode_given(content) if self.kind == "json" else _encoded(content)
        self._head = await self._store.replace(self.uri, data)
        self._decoder = Utf8Decoder()

    async def seal(self, state: Seal = "complete") -> None:
        """Says that nothing follows: `complete`, or `aborted` where the content was cut. Twice is once."""
        await self._append(b"", seal=state)

    async def _append(self, data: bytes, *, seal: Seal | None = None) -> None:
        if self.kind != "text" or (seal is None and data.isascii() and not self._decoder.holds_back):
            self._head = await self._store.append(self.uri, data, seal=seal)
            return
        # A copy, so that a refused append changes nothing: what is held back stays held back.
        decoder = self._decoder.copy()
        whole = decoder.decode(data, final=seal is not None)
        self._head = await self._store.append(self.uri, whole, seal=seal)
        self._decoder = decoder


class Server:
    """An MCP server of streamable resources.

    `name` is what it tells clients; without a `store` everything is kept in memory, as long as the process lives.
    """

    def __init__(self, name: str, *, store: Store | None = None, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.store: Store = store or MemoryStore(self.limits)
        self._version = version("streamres")
        self._spans = spans(self._version)
        self._observed = ObservedStore(self.store, self._spans)
        self._name = name
        self._dispatchers: set[Dispatcher] = set()

    async def create(
        self,
        uri: str,
        *,
        kind: Kind = "text",
        value: JsonValue = None,
        name: str | None = None,
        mime_type: str | None = None,
        title: str | None = None,
        description: str | None = None,
        audience: Collection[Audience] = (),
    ) -> Resource:
        """Makes an empty resource and gives the hold on it; its content is text, or what `kind` says.

        A json resource begins with the document `value`. `audience` says for whom it is meant: `user`, `assistant`
        or both.

        Raises:
            ResourceExists: the URI is taken.
            UriInvalid: it is no absolute URI.
            DeltaError: `value` is no JSON value, or the resource is not json.
            LimitExceeded: one resource too many, or a document too large.
        """
        if value is not None and kind != "json":
            raise DeltaError(f"a {kind} resource begins empty; append to it")
        what = Description(
            uri=uri,
            name=name or uri,
            kind=kind,
            mime_type=mime_type or MIME_TYPES[kind],
            title=title,
            description=description,
            audience=tuple(audience),
        )
        content = encode_given(value) if kind == "json" else b""
        return Resource(what, self._observed, await self.store.create(what, content))

    def asgi(
        self,
        *,
        allowed_hosts: Collection[str] = (),
        upload: bool = False,
        health: bool = False,
        metrics: bool = False,
    ) -> Router:
        """Gives the ASGI app: MCP at `/mcp` and, with `upload`, writes by anyone who gets here at `/upload`.

        With `health`, `/healthz` says whether the store answers; with `metrics`, `/metrics` has the numbers for
        Prometheus. `allowed_hosts` are the names, beside localhost and addresses, by which clients call this
        server.
        """
        return self._app(self._dispatcher(), allowed_hosts, upload=upload, health=health, metrics=metrics)

    def _dispatcher(self) -> Dispatcher:
        dispatcher = Dispatcher(
            self.store,
            self.limits,
            name=self._name,
            version=self._version,
            around=None if self._spans is None else self._spans.traced,
        )
        self._dispatchers.add(dispatcher)
        return dispatcher

    def _app(
        self,
        dispatcher: Dispatcher,
        allowed_hosts: Collection[str],
        *,
        upload: bool,
        health: bool,
        metrics: bool,
    ) -> Router:
        guard = Guard(allowed_hosts)
        endpoint = HttpEndpoint(dispatcher, self.limits, guard)
        numbers = Numbers(self._observed, self._version, self._dispatchers, [endpoint])
        routes = [Route(MCP_PATH, endpoint)]
        if upload:
            uploads = Upload(self._observed, self.limits, guard)
            numbers.uploads.append(uploads.in_flight)
            routes.append(Route(UPLOAD_PATH, uploads, methods=["GET", "POST", "PUT"]))
        if health:
            routes.append(Route(HEALTH_PATH, Health(self.store, self._version, guard), methods=["GET"]))
        if metrics:
            routes.append(Route(METRICS_PATH, Metrics(numbers, guard), methods=["GET"]))
        # A bare router: the middleware of a Starlette app costs every message of every stream two calls.
        return Router(routes)

    @asynccontextmanager
    async def serve(
        self,
        host: str = "127.0.0.1",
        port: int = 8765,
        *,
        sock: socket.socket | None = None,
        allowed_hosts: Collection[str] = (),
        upload: bool = False,
        health: bool = False,
        metrics: bool = False,
    ) -> AsyncIterator[str]:
        """Serves what `asgi` gives while the context lasts, and gives the URL of MCP; port 0 takes a free one.

        At the end every subscription gets its result. A `sock` that listens already is used in place of an
        address, and closed.

        Raises:
            OSError: the address is in use, or not one of this machine.
        """
        sock = sock or bind(host, port)
        dispatcher = self._dispatcher()
        app = self._app(dispatcher, allowed_hosts, upload=upload, health=health, metrics=metrics)
        try:
            async with serving(app, sock, close=dispatcher.close, limits=self.limits):
                yield origin_of(sock) + MCP_PATH
        finally:
            self._dispatchers.discard(dispatcher)

    async def serve_stdio(self) -> None:
        """Serves on standard input and output until the client closes them; whatever it asked is answered then.

        Standard output is the client's for good: what is printed goes to standard error, and standard input is
        empty for the program and its children. Cancellation ends it in order too.
        """
        dispatcher = self._dispatcher()
        source, sink = claim_standard_streams()
        try:
            await StdioPeer(dispatcher, self.limits, source, sink).serve()
        finally:
            self._dispatchers.discard(dispatcher)
            os.close(source)
            os.close(sink)

    async def drain(self) -> None:
        """Returns when nobody is reading any more, after ten seconds at the latest.

        Whoever follows a resource when it is sealed gets the rest of it so. An idle subscription does not count.
        """
        with anyio.move_on_after(_DRAIN_S):
            before = 0
            while (now := sum(dispatcher.requests for dispatcher in self._dispatchers)) != before or any(
                dispatcher.subscriptions.behind for dispatcher in self._dispatchers
            ):
                before = now
                await anyio.sleep(_QUIET_S)

    def close(self) -> None:
        """Ends every subscription with its result and every wait with its answer.

        Call it before the ASGI server that an app is mounted in shuts down: it waits for open streams.
        """
        for dispatcher in self._dispatchers:
            dispatcher.close()


def _encoded(text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return text
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise DeltaError(f"the text has a lone surrogate at index {exc.start}") from exc
