"""`streamres serve`: a server for `push` and of what was kept, over HTTP, to one client over stdio, or both."""

from __future__ import annotations

import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio

from streamres.app import Server
from streamres.cli import words
from streamres.cli.keeping import kept
from streamres.errors import StoreError
from streamres.transport import allow_connections

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from streamres.limits import Limits


def serve(*, host: str, port: int, store: str, limits: Limits) -> int:
    """Serves what `store` keeps until SIGINT or SIGTERM, then ends every stream in order."""
    words.quiet_uvicorn()
    try:
        anyio.run(_serve, host, port, store, limits, backend_options={"use_uvloop": True})
    except StoreError as exc:
        words.fail(str(exc))
        return words.FAILED
    except OSError as exc:
        words.cannot_serve(host, port, exc)
        return words.FAILED
    return 0


def serve_stdio(*, host: str, port: int | None, store: str, limits: Limits) -> int:
    """Serves until the client closes standard input or goes, or a signal; over HTTP too where there is a port."""
    words.quiet_uvicorn()
    try:
        anyio.run(_serve_stdio, host, port, store, limits, backend_options={"use_uvloop": True})
    except StoreError as exc:
        words.fail(str(exc))
        return words.FAILED
    except OSError as exc:
        words.cannot_serve(host, port or 0, exc)
        return words.FAILED
    return 0


def _serving(server: Server, host: str, port: int) -> AbstractAsyncContextManager[str]:
    return server.serve(host, port, upload=True, health=True, metrics=True)


async def _serve(host: str, port: int, store: str, limits: Limits) -> None:
    allow_connections(limits.connections)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with (
            kept(store, limits) as opened,
            _serving(Server("streamres serve", store=opened, limits=limits), host, port) as url,
        ):
            words.say(f"serving at {url} (store: {store})")
            await anext(signals)
            words.say("ending")


async def _serve_stdio(host: str, port: int | None, store: str, limits: Limits) -> None:
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(kept(store, limits))
        server = Server("streamres serve", store=opened, limits=limits)
        signals = stack.enter_context(anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM))
        if port is not None:
            allow_connections(server.limits.connections)
            url = await stack.enter_async_context(_serving(server, host, port))
            words.say(f"serving standard input and output, and at {url} (store: {store})")
        group = await stack.enter_async_context(anyio.create_task_group())

        async def until_told() -> None:
            await anext(signals)
            group.cancel_scope.cancel()

        group.start_soon(until_told)
        await server.serve_stdio()
        group.cancel_scope.cancel()
