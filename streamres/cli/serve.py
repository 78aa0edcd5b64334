"""`streamres serve`: a server for `push` and of what was kept, over HTTP, to one client over stdio, or both."""

from __future__ import annotations

import signal
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from streamres.app import Server
from streamres.builds import Build, ConfigError, offer_builds, read_config
from streamres.cli import words
from streamres.cli.keeping import kept
from streamres.errors import StoreError
from streamres.transport import allow_connections

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from streamres.limits import Limits
    from streamres.store import Store


def serve(*, host: str, port: int, store: str, limits: Limits, config: Path | None) -> int:
    """Serves what `store` keeps until SIGINT or SIGTERM, then ends every stream in order."""
    words.quiet_uvicorn()
    try:
        builds = _builds(config)
        anyio.run(_serve, host, port, store, limits, builds, backend_options={"use_uvloop": True})
    except ConfigError as exc:
        words.fail(str(exc))
        return words.USAGE
    except StoreError as exc:
        words.fail(str(exc))
        return words.FAILED
    except OSError as exc:
        words.cannot_serve(host, port, exc)
        return words.FAILED
    return 0


def serve_stdio(*, host: str, port: int | None, store: str, limits: Limits, config: Path | None) -> int:
    """Serves until the client closes standard input or goes, or a signal; over HTTP too where there is a port."""
    words.quiet_uvicorn()
    try:
        builds = _builds(config)
        anyio.run(_serve_stdio, host, port, store, limits, builds, backend_options={"use_uvloop": True})
    except ConfigError as exc:
        words.fail(str(exc))
        return words.USAGE
    except StoreError as exc:
        words.fail(str(exc))
        return words.FAILED
    except OSError as exc:
        words.cannot_serve(host, port or 0, exc)
        return words.FAILED
    return 0


def _builds(config: Path | None) -> tuple[Build, ...]:
    return () if config is None else read_config(config)


@asynccontextmanager
async def _server(store: Store, limits: Limits, builds: Sequence[Build]) -> AsyncIterator[Server]:
    """Gives the server; the builds that run are stopped at its end."""
    server = Server("streamres serve", store=store, limits=limits)
    offered = offer_builds(server, builds) if builds else None
    try:
        yield server
    finally:
        if offered is not None:
            with anyio.CancelScope(shield=True):
                await offered.end_all()


def _serving(server: Server, host: str, port: int) -> AbstractAsyncContextManager[str]:
    return server.serve(host, port, upload=True, health=True, metrics=True)


async def _serve(host: str, port: int, store: str, limits: Limits, builds: Sequence[Build]) -> None:
    allow_connections(limits.connections)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with (
            kept(store, limits) as opened,
            _server(opened, limits, builds) as server,
            _serving(server, host, port) as url,
        ):
            words.say(f"serving at {url} (store: {store})")
            await anext(signals)
            words.say("ending")


async def _serve_stdio(host: str, port: int | None, store: str, limits: Limits, builds: Sequence[Build]) -> None:
    async with AsyncExitStack() as stack:
        # First, so that a host that sends one while the builds are stopped does not keep them from it.
        signals = stack.enter_context(anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM))
        opened = await stack.enter_async_context(kept(store, limits))
        server = await stack.enter_async_context(_server(opened, limits, builds))
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
