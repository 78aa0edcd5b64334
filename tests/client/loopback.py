"""A TCP server on a free loopback port."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from anyio.abc import SocketAttribute

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from anyio.abc import SocketStream


@asynccontextmanager
async def listening(handle: Callable[[SocketStream], Awaitable[None]]) -> AsyncIterator[int]:
    """Serves while the context lasts, and gives the port."""
    failure: Exception | None = None
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, handle)
        try:
            yield listener.extra(SocketAttribute.local_port)
        except Exception as exc:  # it comes out as it is, not in a group
            failure = exc
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
