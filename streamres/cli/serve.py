"""`streamres serve`: an empty server for `push`, over HTTP, to one client over stdio, or both."""

from __future__ import annotations

import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio

from streamres.app import Server
from streamres.cli import words
from streamres.transport import allow_connections

if TYPE_CHECKING:
    from streamres.limits import Limits


def serve(*, host: str, port: int, limits: Limits) -> int:
    """Serves until SIGINT or SIGTERM, then ends every stream in order."""
    words.quiet_uvicorn()
    try:
        anyio.run(_serve, host, port, limits, backend_options={"use_uvloop": True})
    except OSError as exc:
        words.cannot_serve(host, port, exc)
        return words.FAILED
    return 0


def serve_stdio(*, host: str, port: int | None, limits: Limits) -> int:
    """Serves until the client closes standard input or goes, or a signal; over HTTP too where there is a port."""
    words.quiet_uvicorn()
    try:
        anyio.run(_serve_stdio, host, port, limits, backend_options={"use_uvloop": True})
    except OSError as exc:
        words.cannot_serve(host, port or 0, exc)
        return words.FAILED
    return 0


async def _serve(host: str, port: int, limits: Limits) -> None:
    server = Server("streamres serve", limits=limits)
    allow_connections(server.limits.connections)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with server.serve(host, port, upload=True) as url:
            words.say(f"serving at {url}")
            await anext(signals)
            words.say("ending")


async def _serve_stdio(host: str, port: int | None, limits: Limits) -> None:
    server = Server("streamres serve", limits=limits)
    async with AsyncExitStack() as stack:
        signals = stack.enter_context(anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM))
        if port is not None:
            allow_connections(server.limits.connections)
            url = await stack.enter_async_context(server.serve(host, port, upload=True))
            words.say(f"serving standard input and output, and at {url}")
        group = await stack.enter_async_context(anyio.create_task_group())

        async def until_told() -> None:
            await anext(signals)
            group.cancel_scope.cancel()

        group.start_soon(until_told)
        await server.serve_stdio()
        group.cancel_scope.cancel()
