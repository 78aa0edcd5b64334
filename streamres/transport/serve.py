"""Runs an ASGI app on a socket with uvicorn, and ends it in order: first the streams, then the connections."""

from __future__ import annotations

import resource
import socket
from contextlib import asynccontextmanager, contextmanager
from math import ceil
from typing import TYPE_CHECKING, Final

import anyio
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Iterator

    from starlette.types import ASGIApp

    from streamres.limits import Limits

_BACKLOG: Final = 2_048
_KEEP_ALIVE_S: Final = 60
"""Longer than clients keep an idle connection: they close it, and no request meets a closing one."""

_OTHER_FILES: Final = 64


def bind(host: str, port: int) -> socket.socket:
    """Gives a socket that listens; port 0 takes a free one.

    Raises:
        OSError: the address is in use, or not one of this machine.
    """
    family, kind, proto, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, kind, proto)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def allow_connections(count: int) -> None:
    """Raises this process's limit of open files, as far as it may, so that `count` connections fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _OTHER_FILES if hard == resource.RLIM_INFINITY else min(count + _OTHER_FILES, hard)
    if wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def origin_of(sock: socket.socket) -> str:
    """Gives the `http://host:port` at which a listening socket is reached from this machine."""
    host, port = sock.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def serving(
    app: ASGIApp, sock: socket.socket, *, close: Callable[[], None], limits: Limits
) -> AsyncIterator[None]:
    """Serves `app` on `sock` while the context lasts.

    At its end no new connection is taken, `close` is called so that open streams end with their result, and
    readers have a few seconds to take it.
    """
    config = uvicorn.Config(
        app,
        http=_protocol(limits.connections),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=ceil(limits.grace_s),
    )
    server = _Uvicorn(config, close)
    failure: Exception | None = None

    async def run() -> None:
        # Left by an exception or by cancellation, the end is in order all the same; `Limits.grace_s` bounds it.
        with anyio.CancelScope(shield=True):
            await server.serve([sock])

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await server.ready.wait()
        try:
            yield
        except Exception as exc:
            failure = exc
        finally:
            server.should_exit = True
    if failure is not None:
        raise failure


def _protocol(connections: int) -> type[HttpToolsProtocol]:
    """uvicorn's limit refuses requests on every connection while there are too many; this one, only on those."""

    class Limited(HttpToolsProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.limit_concurrency = 0 if len(self.connections) > connections else None
            # A connection that never asks for anything is closed as one is that asks for nothing more.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    return Limited


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, close: Callable[[], None]) -> None:
        super().__init__(config)
        self.ready = anyio.Event()
        self._close = close

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Signals belong to the program, which ends the context.
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._close()
        await super().shutdown(sockets)
