"""What lies between a store and its NATS server: it can lose what one says to the other, be cut, and be mended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskGroup

GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


class Link:
    """Carries connections to one port."""

    def __init__(self, target_port: int, tasks: TaskGroup) -> None:
        self.port = 0
        self.is_deaf = False
        """What the server says from now on is lost."""
        self.is_mute = False
        """What the store says from now on is lost."""
        self._target_port = target_port
        self._tasks = tasks
        self._scope = anyio.CancelScope()

    def cut(self) -> None:
        """Ends every connection, and takes no other until it is mended."""
        self._scope.cancel()

    async def mend(self) -> None:
        """Carries again, both ways."""
        self.is_deaf = self.is_mute = False
        await self._tasks.start(self._serve)

    async def _serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        with anyio.CancelScope() as self._scope:
            async with await anyio.create_tcp_listener(
                local_host="127.0.0.1", local_port=self.port, reuse_port=True
            ) as listener:
                self.port = listener.extra(SocketAttribute.local_port)
                task_status.started()
                await listener.serve(self._handle)

    async def _handle(self, store: SocketStream) -> None:
        with suppress(*GONE):
            async with store, await anyio.connect_tcp("127.0.0.1", self._target_port) as server:
                await self._carry(store, server)

    async def _carry(self, store: SocketStream, server: SocketStream) -> None:
        async with anyio.create_task_group() as tasks:

            async def upwards() -> None:
                with suppress(*GONE):
                    async for data in store:
                        if not self.is_mute:
                            await server.send(data)
                tasks.cancel_scope.cancel()

            tasks.start_soon(upwards)
            with suppress(*GONE):
                async for data in server:
                    if not self.is_deaf:
                        await store.send(data)
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def linked(target_port: int) -> AsyncIterator[Link]:
    async with anyio.create_task_group() as tasks:
        link = Link(target_port, tasks)
        await link.mend()
        yield link
        tasks.cancel_scope.cancel()
