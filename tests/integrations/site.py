"""A server of the released SDK or FastMCP on a loopback port, with resources of its own and a store attached."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import anyio
import mcp_types as types
import uvicorn
from fastmcp import FastMCP
from mcp import StdioServerParameters
from mcp.client import Client, advertise
from mcp.server import MCPServer, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from server.wire import EXTENSION, STREAM, URI

import streamres
from streamres.integrations.mcp_sdk import Attachment, attach
from streamres.store import MemoryStore
from streamres.transport import bind, origin_of

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from mcp.client.session import MessageHandlerFnT
    from starlette.applications import Starlette

Kind = Literal["Server", "MCPServer", "FastMCP"]
Mode = Literal["auto", "legacy"]
KINDS: tuple[Kind, ...] = get_args(Kind)

OWN = "own://note"
OWN_TOO = "own://second"
OWN_TEXT = "of the server itself"
OWN_TEMPLATE = "own://{name}/card"


@dataclass
class Site:
    """What a test needs of it."""

    url: str
    low_level: Server[Any]
    attachment: Attachment
    producer: streamres.Server
    log: streamres.Resource
    bus: InMemorySubscriptionBus

    def client(
        self,
        *,
        mode: Mode = "auto",
        declared: bool = False,
        heard: MessageHandlerFnT | None = None,
    ) -> AbstractAsyncContextManager[Client]:
        """The official client, unchanged."""
        return client_of(self.url, mode=mode, declared=declared, heard=heard)


@asynccontextmanager
async def client_of(
    server: str | MCPServer[Any] | StdioServerParameters,
    *,
    mode: Mode = "auto",
    declared: bool = False,
    heard: MessageHandlerFnT | None = None,
) -> AsyncIterator[Client]:
    """The official client of a server at a URL, in this process, or as a child."""
    extensions = [advertise(EXTENSION, {"binding": "meta"})] if declared else None
    with anyio.fail_after(20):
        async with Client(server, mode=mode, extensions=extensions, message_handler=heard) as client:
            yield client


def stream_of(result: types.Result) -> dict[str, Any]:
    """The members of the extension in the binding `meta`."""
    return (result.meta or {})[STREAM]


def low_level_server(bus: InMemorySubscriptionBus) -> Server[Any]:
    """One that lists in two pages, so that a list has cursors of its own."""

    async def resources(ctx: object, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        second = params is not None and params.cursor == "second"
        uri = OWN_TOO if second else OWN
        return types.ListResourcesResult(
            resources=[types.Resource(uri=uri, name=uri)], next_cursor=None if second else "second", ttl_ms=60_000
        )

    async def templates(ctx: object, params: object) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(uri_template=OWN_TEMPLATE, name="card")
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read(ctx: object, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if not params.uri.startswith("own://"):
            raise MCPError(types.INVALID_PARAMS, "unknown here", {"uri": params.uri})
        contents = types.TextResourceContents(uri=params.uri, text=OWN_TEXT)
        return types.ReadResourceResult(contents=[contents])

    server: Server[Any] = Server(
        "tested",
        version="7",
        on_list_resources=resources,
        on_list_resource_templates=templates,
        on_read_resource=read,
        on_subscriptions_listen=ListenHandler(bus),
    )
    server.extensions["org.example/own"] = {"a": 1}
    return server


def with_resources(server: MCPServer[Any] | FastMCP[Any]) -> None:
    @server.resource(OWN)
    def note() -> str:
        return OWN_TEXT

    @server.resource(OWN_TEMPLATE)
    def card(name: str) -> str:
        return name


def server_of(kind: Kind, bus: InMemorySubscriptionBus) -> tuple[Any, Server[Any], Starlette]:
    """A server, what it is built on, and its app."""
    match kind:
        case "Server":
            low_level = low_level_server(bus)
            return low_level, low_level, low_level.streamable_http_app()
        case "MCPServer":
            server = MCPServer("tested", subscriptions=bus)
            with_resources(server)
            return server, server._lowlevel_server, server.streamable_http_app()
        case "FastMCP":
            fast = FastMCP("tested")
            with_resources(fast)
            return fast, fast._mcp_server, fast.http_app()


@asynccontextmanager
async def site(
    kind: Kind, *, store: MemoryStore | None = None, limits: streamres.Limits | None = None
) -> AsyncIterator[Site]:
    """One with an empty resource of the store at `URI`."""
    bus = InMemorySubscriptionBus()
    server, low_level, app = server_of(kind, bus)
    store = store or MemoryStore()
    attachment = attach(server, store, limits=limits)
    producer = streamres.Server("producer", store=store)
    log = await producer.create(URI, name="log")
    async with served(app) as url:
        yield Site(url, low_level, attachment, producer, log, bus)


@asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[str]:
    """Serves an app as uvicorn does by itself, and gives the URL of MCP."""
    with bind("127.0.0.1", 0) as sock:
        config = uvicorn.Config(app, ws="none", log_config=None, timeout_graceful_shutdown=1)
        server = _Uvicorn(config)
        failure: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [sock])
            await server.ready.wait()
            try:
                yield f"{origin_of(sock)}/mcp"
            except Exception as exc:  # a test that fails reads as itself
                failure = exc
            server.should_exit = True
        if failure is not None:
            raise failure


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = anyio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()
