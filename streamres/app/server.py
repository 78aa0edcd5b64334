"""`Server`: what it offers, and how it is served over HTTP, over standard streams, or in another app."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio

from streamres.app.http import MCP_PATH, Paths, http_app
from streamres.limits import Limits
from streamres.observe import Numbers, ObservedStore, spans
from streamres.server import Dispatcher
from streamres.server.closing import until_quiet
from streamres.sources.lease import lease
from streamres.sources.resource import Resource, create
from streamres.store import MemoryStore
from streamres.store.sqlite import SqliteStore
from streamres.tools import Toolbox, tool_of
from streamres.transport import Guard, StdioPeer, bind, claim_standard_streams, origin_of, serving

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Collection, Mapping
    from contextlib import AbstractContextManager

    from starlette.routing import Router

    from streamres.model import Audience, Kind
    from streamres.model.json_value import JsonValue
    from streamres.store import Store
    from streamres.tools.registry import Registry

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")

_DRAIN_S: Final = 10.0


class Server:
    """An MCP server of streamable resources.

    `name` is what it tells clients; without a `store` everything is kept in memory, as long as the process lives.
    `secret` signs what a tool's questions leave with the client: servers that stand for one another share it.
    """

    def __init__(
        self,
        name: str,
        *,
        store: Store | None = None,
        limits: Limits | None = None,
        secret: bytes | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.store: Store = store or MemoryStore(self.limits)
        self._version = version("streamres")
        self._spans = spans(self._version)
        self._observed = ObservedStore(self.store, self._spans)
        self._name = name
        self._lease = partial(lease, self.store.path) if isinstance(self.store, SqliteStore) else None
        self._toolbox = Toolbox(
            self._observed,
            self.limits,
            name=name,
            version=self._version,
            key=secret,
            lease=self._lease,
        )
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
        return await create(
            self._observed,
            uri,
            kind=kind,
            value=value,
            name=name,
            mime_type=mime_type,
            title=title,
            description=description,
            audience=audience,
            make=Resource,
        )

    def hold(self, uri: str) -> AbstractContextManager[None]:
        """Holds a resource while the context lasts: if this process is killed, whoever serves the file seals it.

        In other stores than a file nothing is held.
        """
        return nullcontext() if self._lease is None else self._lease(uri)

    def tool(
        self,
        name: str | None = None,
        *,
        title: str | None = None,
        description: str | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        streaming: bool = False,
        task_after_s: float | None = None,
        task_required: bool = False,
        timeout_s: float | None = None,
    ) -> Callable[[FunctionT], FunctionT]:
        """Offers the function that it decorates as a tool.

        Its parameters are the arguments, by their types and defaults; one of the type `Context` is filled in. What
        it returns is the result: a text, a block, a list of them, a `ToolResult`, or the annotated type's JSON.
        With `input_schema` the function takes the context and a mapping that the schema allows.

        A call becomes a task for a client that takes tasks after `task_after_s` seconds, 0 for at once, or where
        the tool says so; with `task_required` every call does, and other clients are refused. `streaming` is the
        hint that there are partial results. After `timeout_s` seconds a call is cancelled and has failed.

        Raises:
            TypeError: a parameter is none that a tool can have.
            ValueError: the name is taken or is none, or a schema is none.
        """

        def offer(function: FunctionT) -> FunctionT:
            tool = tool_of(
                function,
                name=name,
                title=title,
                description=description,
                input_schema=input_schema,
                output_schema=output_schema,
                annotations=annotations,
                streaming=streaming,
                task_after_s=task_after_s,
                task_required=task_required,
                timeout_s=timeout_s,
            )
            self._toolbox.tools.add(tool)
            return function

        return offer

    @property
    def tools(self) -> Registry:
        """The tools on offer, for one that is made of no function; see `streamres.tools.Tool`."""
        return self._toolbox.tools

    def remove_tool(self, name: str) -> None:
        """Offers a tool no more; its calls go on.

        Raises:
            KeyError: there is none of this name.
        """
        self._toolbox.tools.remove(name)

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
        return self._app(self._dispatcher(), allowed_hosts, Paths(upload=upload, health=health, metrics=metrics))

    def _dispatcher(self) -> Dispatcher:
        dispatcher = Dispatcher(
            self.store,
            self.limits,
            name=self._name,
            version=self._version,
            more=self._toolbox,
            around=None if self._spans is None else self._spans.traced,
        )
        self._dispatchers.add(dispatcher)
        return dispatcher

    def _app(self, dispatcher: Dispatcher, allowed_hosts: Collection[str], paths: Paths) -> Router:
        numbers = Numbers(self._observed, self._version, self._dispatchers, calls=self._toolbox.calls)
        return http_app(dispatcher, self.store, numbers, self.limits, Guard(allowed_hosts), paths)

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
        app = self._app(dispatcher, allowed_hosts, Paths(upload=upload, health=health, metrics=metrics))
        try:
            async with serving(app, sock, close=dispatcher.close, limits=self.limits):
                yield origin_of(sock) + MCP_PATH
        finally:
            await self._over(dispatcher)

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
            await self._over(dispatcher)
            os.close(source)
            os.close(sink)

    async def _over(self, dispatcher: Dispatcher) -> None:
        self._dispatchers.discard(dispatcher)
        if not self._dispatchers:
            with anyio.CancelScope(shield=True):
                await self._toolbox.calls.end_all()

    async def drain(self) -> None:
        """Returns when nobody is reading any more, after ten seconds at the latest.

        Whoever follows a resource when it is sealed gets the rest of it so. An idle subscription does not count.
        """
        with anyio.move_on_after(_DRAIN_S):
            await until_quiet(self._dispatchers)

    def close(self) -> None:
        """Ends every subscription with its result and every wait with its answer.

        Call it before the ASGI server that an app is mounted in shuts down: it waits for open streams.
        """
        for dispatcher in self._dispatchers:
            dispatcher.close()
