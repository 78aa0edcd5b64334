"""The official SDK's low-level server as a contestant, answering in its default mode or (`--json`) in JSON.

Of cursors it knows nothing, so its handler reads one from `_meta`, as an adapter on it has to, and sends the
equal delta: the same text in `contents` and the next cursor in `_meta`. Updates go over its own
`subscriptions/listen` and bus, and name the URI only.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp_types import ReadResourceRequestParams, ReadResourceResult, TextResourceContents

from benchmarks.control import listening_socket, obey
from benchmarks.wire import CURSOR_META

if TYPE_CHECKING:
    import socket

    from mcp.server import ServerRequestContext


class Official:
    """A server whose texts are strings, the form that the SDK takes them in."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._bus = InMemorySubscriptionBus()
        self.server: Server[Any] = Server(
            "benchmark",
            version="0",
            on_read_resource=self._read,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    async def create(self, uri: str) -> None:
        self._texts[uri] = ""

    async def append(self, uri: str, text: str) -> str:
        self._texts[uri] += text
        return str(len(self._texts[uri]))

    async def publish(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri))

    async def seal(self, uri: str) -> None:
        """Does nothing: a plain resource has no end."""

    async def _read(
        self, ctx: ServerRequestContext[Any, Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        text = self._texts[params.uri]
        match (params.meta or {}).get(CURSOR_META):
            case str(cursor):
                contents = TextResourceContents(uri=params.uri, mime_type="text/plain", text=text[int(cursor) :])
                return ReadResourceResult(contents=[contents], _meta={CURSOR_META: str(len(text))})
            case _:
                contents = TextResourceContents(uri=params.uri, mime_type="text/plain", text=text)
                return ReadResourceResult(contents=[contents])


async def main(*, json: bool) -> None:
    contestant = Official()
    sock = listening_socket()
    # The settings of `streamres.transport.serve`, for equal work around the app.
    config = uvicorn.Config(
        contestant.server.streamable_http_app(json_response=json),
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve, [sock])
        await server.ready.wait()
        await obey(contestant, sock.getsockname()[1])
        server.should_exit = True


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = anyio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


if __name__ == "__main__":
    anyio.run(lambda: main(json="--json" in sys.argv), backend_options={"use_uvloop": True})
