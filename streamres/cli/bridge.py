"""`streamres bridge`: a server in front of another, which keeps what that one's tools put out while they work."""

from __future__ import annotations

import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio

from streamres.app import Server
from streamres.bridge import Bridge
from streamres.cli import words
from streamres.cli.keeping import kept
from streamres.client import Client
from streamres.errors import StreamresError
from streamres.transport import allow_connections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamres.limits import Limits


def bridge(
    upstream: Sequence[str],
    *,
    host: str,
    port: int | None,
    stdio: bool,
    store: str,
    limits: Limits,
    task_after_s: float,
) -> int:
    """Serves the tools of `upstream`, a URL or a command, until a signal; with `stdio`, until the client goes."""
    words.quiet_uvicorn()
    try:
        anyio.run(
            _bridge, upstream, host, port, stdio, store, limits, task_after_s, backend_options={"use_uvloop": True}
        )
    except StreamresError as exc:
        words.fail(str(exc))
        return words.FAILED
    except OSError as exc:
        words.cannot_serve(host, port or 0, exc)
        return words.FAILED
    return 0


async def _bridge(
    upstream: Sequence[str],
    host: str,
    port: int | None,
    stdio: bool,
    store: str,
    limits: Limits,
    task_after_s: float,
) -> None:
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(kept(store, limits))
        client = await stack.enter_async_context(Client(upstream[0] if is_url(upstream) else upstream))
        server = Server("streamres bridge", store=opened, limits=limits)
        bridging = Bridge(client, server.tools, server.store, limits, task_after_s=task_after_s)
        await stack.enter_async_context(bridging.running())
        signals = stack.enter_context(anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM))
        if port is not None:
            allow_connections(limits.connections)
            url = await stack.enter_async_context(server.serve(host, port, health=True, metrics=True))
            also = "standard input and output, and " if stdio else ""
            words.say(f"serving {also}{len(server.tools)} tools of {client.url} at {url} (store: {store})")
        if not stdio:
            await anext(signals)
            words.say("ending")
            return
        group = await stack.enter_async_context(anyio.create_task_group())

        async def until_told() -> None:
            await anext(signals)
            group.cancel_scope.cancel()

        group.start_soon(until_told)
        await server.serve_stdio()
        group.cancel_scope.cancel()


def is_url(upstream: Sequence[str]) -> bool:
    """Says whether it is a URL, and no command."""
    return len(upstream) == 1 and upstream[0].lower().startswith(("http://", "https://"))
