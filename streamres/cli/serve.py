"""`streamres serve`: an empty server, for `push` and other producers."""

from __future__ import annotations

import signal

import anyio

from streamres.app import Server
from streamres.cli import words
from streamres.transport import allow_connections


def serve(*, host: str, port: int) -> int:
    """Serves until SIGINT or SIGTERM, then ends every stream in order."""
    words.quiet_uvicorn()
    try:
        anyio.run(_serve, host, port, backend_options={"use_uvloop": True})
    except OSError as exc:
        words.cannot_serve(host, port, exc)
        return words.FAILED
    return 0


async def _serve(host: str, port: int) -> None:
    server = Server("streamres serve")
    allow_connections(server.limits.connections)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with server.serve(host, port, upload=True) as url:
            words.say(f"serving at {url}")
            await anext(signals)
            words.say("ending")
