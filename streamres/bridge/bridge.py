"""The tools of another server, offered here under their own names, for as long as it offers them."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from streamres.bridge.call import BridgedCall
from streamres.client.backoff import Backoff
from streamres.errors import ConnectionLost, StreamresError
from streamres.limits import TASK_AFTER_S
from streamres.protocol.parameters import header_arguments
from streamres.tools import Tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from streamres.client import Client, OfferedTool
    from streamres.limits import Limits
    from streamres.store import Store
    from streamres.tools import Context, ToolResult
    from streamres.tools.registry import Registry

logger = logging.getLogger("streamres.bridge")


class Bridge:
    """Offers the tools of `upstream` in `tools`; what they put out is kept in `store`, as outputs of the calls.

    A call becomes a task after `task_after_s` seconds for a client that takes tasks, whether the other server has
    any or not; None is never.
    """

    def __init__(
        self,
        upstream: Client,
        tools: Registry,
        store: Store,
        limits: Limits,
        *,
        task_after_s: float | None = TASK_AFTER_S,
    ) -> None:
        self._upstream = upstream
        self._tools = tools
        self._store = store
        self._limits = limits
        self._task_after_s = task_after_s
        self._offered: dict[str, OfferedTool] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Offers the tools while the context lasts; when the other server says that they changed, those.

        Raises on entering:
            ConnectionLost: the other server is not there.
            RpcError: it has no tools.
            ProtocolError: it speaks no version that is spoken here, or no MCP.
        """
        await self.refresh()
        # No task group: what fails in the body is the caller's, and not to be wrapped.
        hearing = asyncio.create_task(self._hear())
        try:
            yield
        finally:
            hearing.cancel()
            await asyncio.wait([hearing])

    async def refresh(self) -> None:
        """Offers what the other server offers at this moment.

        Raises: as `running`.
        """
        offered = {tool.name: tool for tool in await self._upstream.list_tools()}
        for name, before in list(self._offered.items()):
            if offered.get(name) != before:
                self._tools.remove(name)
                del self._offered[name]
        for name, tool in offered.items():
            if name not in self._offered:
                try:
                    self._tools.add(self._bridged(tool))
                except ValueError as exc:
                    logger.warning("the tool %r is left out: %s", name, exc)
                else:
                    self._offered[name] = tool

    async def _hear(self) -> None:
        backoff = Backoff(None)
        while True:
            try:
                async for _ in self._upstream.tool_changes():
                    await self.refresh()
                    backoff.reset()
                return
            except ConnectionLost as exc:
                await backoff.wait(exc)
            except StreamresError as exc:
                logger.warning("changes of the tools behind the bridge are not heard of: %s", exc)
                return

    def _bridged(self, tool: OfferedTool) -> Tool:
        return Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            annotations=tool.annotations,
            more=tool.more,
            handle=partial(self._handle, tool.name),
            dumped=_same,  # the other server answers for its schemas
            headers=header_arguments(tool.input_schema),
            task_after_s=self._task_after_s,
            passes_on=True,
        )

    async def _handle(self, name: str, context: Context, arguments: Mapping[str, Any]) -> ToolResult:
        return await BridgedCall(self._upstream, self._store, self._limits, name, context).run(arguments)


def _same(value: object) -> object:
    return value
