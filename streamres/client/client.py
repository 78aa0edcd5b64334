"""The client that people use: list, read, listen, follow, and call tools."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, Self

from streamres.client.connection import Connection, Timeouts
from streamres.client.follow import PAGE_BYTES, follow
from streamres.client.hearing import Hearing
from streamres.client.stdio import StdioConnection
from streamres.client.tools import Tools
from streamres.client.wire import (
    ListChanged,
    Listed,
    ToolsChanged,
    Updated,
    acknowledged,
    list_page,
    read_update,
    updated,
)
from streamres.errors import ConnectionLost, ProtocolError
from streamres.protocol import words

if TYPE_CHECKING:
    import builtins
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from types import TracebackType

    from streamres.client.backoff import FaultHook
    from streamres.client.calls import CallResult, InputRequired, OfferedTool, Partial, Progress
    from streamres.model import Update


class Subscription:
    """An open subscription: iterate over it for its events, until the server ends it in order."""

    def __init__(self, cursors: Mapping[str, str | None], messages: AsyncIterator[dict[str, Any]]) -> None:
        self.cursors = cursors
        """Where each honoured stream stood at the beginning; None for a resource that was not there."""
        self._messages = messages

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Updated | ListChanged | ToolsChanged:
        """Gives the next event.

        Raises:
            ConnectionLost: the stream was cut.
            ProtocolError: a notification is malformed.
        """
        async for message in self._messages:
            match message.get("method"):
                case words.UPDATED:
                    return updated(message.get("params") or {})
                case words.LIST_CHANGED:
                    return ListChanged()
                case words.TOOLS_CHANGED:
                    return ToolsChanged()
                case _:
                    pass  # P4: what is not known is not for us
        raise StopAsyncIteration


class Client:
    """A client of one MCP server that offers streamable resources, tools or both.

    `server` is the URL of the MCP endpoint, without a path `/mcp`; or a command, as a list, that is run and speaks
    MCP on its standard input and output. Use it as an async context manager.

    Raises on entering:
        ConnectionLost: the command cannot be started.
    """

    def __init__(self, server: str | Sequence[str], *, timeouts: Timeouts | None = None) -> None:
        timeouts = timeouts or Timeouts()
        self._connection: Connection | StdioConnection = (
            Connection(server, timeouts) if isinstance(server, str) else StdioConnection(server, timeouts)
        )
        self._tools = Tools(self._connection, timeouts)
        self.url = str(self._connection.url)
        """The endpoint in full, or the command."""

    async def __aenter__(self) -> Self:
        await self._connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    async def discover(self) -> dict[str, Any]:
        """Gives the result of `server/discover` as it is."""
        return await self._connection.request(words.DISCOVER, {})

    async def list(self) -> list[Listed]:
        """Gives every resource, oldest first."""
        entries: list[Listed] = []
        params: dict[str, Any] = {}
        while True:
            result = await self._connection.request(words.LIST, params)
            page, cursor = list_page(result)
            entries += page
            if cursor is None:
                return entries
            params = {"cursor": cursor}

    async def read(
        self,
        uri: str,
        since: str | None = None,
        *,
        max_bytes: int | None = None,
        wait_ms: int | None = None,
        tail_bytes: int | None = None,
    ) -> Update:
        """Gives the delta after the cursor `since`, or a snapshot (section 5).

        `max_bytes` bounds the text, `wait_ms` lets the server wait for news, `tail_bytes` asks for the end only.

        Raises:
            ResourceNotFound, CursorInvalid, RpcError: the server refused.
            ConnectionLost: no answer came.
        """
        asked = {"since": since, "maxBytes": max_bytes, "waitMs": wait_ms, "tailBytes": tail_bytes}
        params = {"uri": uri, **{name: value for name, value in asked.items() if value is not None}}
        result = await self._connection.request(words.READ, params, wait_s=(wait_ms or 0) / 1000)
        return read_update(uri, result)

    @asynccontextmanager
    async def listen(
        self,
        streams: Mapping[str, str | None] | None = None,
        *,
        deliver: Literal["cursor", "delta"] = "cursor",
        list_changed: bool = False,
        tools_changed: bool = False,
    ) -> AsyncIterator[Subscription]:
        """Opens a subscription (section 7).

        `streams` maps each URI to the cursor since which its reader needs to know, or None for from now on.

        Raises:
            CursorInvalid, RpcError: the server refused.
            ConnectionLost: the server cannot be reached, or the stream was cut.
        """
        notifications: dict[str, Any] = {
            "resourceStreams": {
                uri: {"deliver": deliver} if since is None else {"deliver": deliver, "since": since}
                for uri, since in (streams or {}).items()
            }
        }
        if list_changed:
            notifications["resourcesListChanged"] = True
        if tools_changed:
            notifications["toolsListChanged"] = True
        async with self._connection.stream(words.LISTEN, {"notifications": notifications}) as messages:
            first = await anext(messages, None)
            if first is None:
                raise ConnectionLost("the subscription ended before it began")
            if first.get("method") != words.ACKNOWLEDGED:
                raise ProtocolError("a subscription began without its acknowledgement")
            yield Subscription(acknowledged(first.get("params") or {}), messages)

    def follow(
        self,
        uri: str,
        since: str | None = None,
        *,
        tail_bytes: int | None = None,
        page_bytes: int = PAGE_BYTES,
        on_fault: FaultHook | None = None,
    ) -> AsyncIterator[Update]:
        """Gives every piece of the resource's text once, until its seal, across any fault.

        Starts at the cursor `since`, at the last `tail_bytes`, or at the beginning. After a fault it waits, longer
        each time, and goes on from where it was; `on_fault` is told of each. Only a seal ends it.

        Raises:
            ResourceNotFound: there is no such resource (any more).
            CursorInvalid: `since` is not a cursor of it.
            DigestMismatch: what was handed over is not what the producer sealed.
        """
        return follow(self, uri, since, tail_bytes=tail_bytes, page_bytes=page_bytes, on_fault=on_fault)

    async def list_tools(self) -> builtins.list[OfferedTool]:
        """Gives every tool, but over HTTP those whose `x-mcp-header` annotations are invalid (SEP-2243).

        Raises:
            RpcError: the server refused, as one without tools does.
            ConnectionLost: no answer came.
            ProtocolError: the list is malformed, or the server speaks no version that is spoken here.
        """
        return await self._tools.list()

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        on_progress: Callable[[Progress], Awaitable[None]] | None = None,
        on_partial: Callable[[Partial], Awaitable[None]] | None = None,
        on_outputs: Callable[[builtins.list[Listed]], Awaitable[None]] | None = None,
        on_task: Callable[[Mapping[str, Any]], Awaitable[None]] | None = None,
        on_input: Callable[[Mapping[str, Mapping[str, Any]]], Awaitable[Mapping[str, Any]]] | None = None,
        tasks: bool = False,
        capabilities: Mapping[str, Any] | None = None,
        responses: Mapping[str, Any] | None = None,
        state: str | None = None,
        basis: Callable[[], str | None] | None = None,
    ) -> CallResult | InputRequired:
        """Calls a tool, and gives its result; cancel it to cancel the call.

        `on_progress` and `on_partial` (SEP-2998) are told what comes before the result, `on_outputs` the
        streamable outputs that can be followed from then on (SR-8.2). With `tasks` the call may become a task,
        which is looked at as often as its server wants; `on_task` is given it each time, and a server that is away
        meanwhile is waited for, for `Timeouts.lost_s`.

        What the server asks goes to `on_input`, as requests by keys, and its responses go back by the same keys.
        Without it the call ends with `InputRequired`: call again with `responses` and its `state`. `capabilities`
        says what can be asked, as `{"elicitation": {}}`. `basis` gives the cursor that the caller has seen by now;
        it goes with the call and with each response, so that the tool knows to what it is an answer (SR-8.4).

        Raises:
            RpcError: the server refused, or the task failed.
            TaskCancelled: the server cancelled the task.
            ConnectionLost: no answer came; the tool may or may not have run.
            ProtocolError: an answer is malformed, or the server speaks no version that is spoken here.
        """
        hearing = Hearing(
            on_progress=on_progress,
            on_partial=on_partial,
            on_outputs=on_outputs,
            on_task=on_task,
            on_input=on_input,
            basis=basis or _nothing_seen,
        )
        return await self._tools.call(
            name,
            arguments or {},
            hearing,
            tasks=tasks,
            capabilities=capabilities or {},
            responses=responses or {},
            state=state,
        )

    async def wait_task(
        self,
        task_id: str,
        *,
        on_task: Callable[[Mapping[str, Any]], Awaitable[None]] | None = None,
        on_input: Callable[[Mapping[str, Mapping[str, Any]]], Awaitable[Mapping[str, Any]]] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        responses: Mapping[str, Any] | None = None,
        basis: Callable[[], str | None] | None = None,
    ) -> CallResult | InputRequired:
        """Waits for the result of a task, as of one that asked, which gets the `responses`; see `call_tool`.

        Raises: as `call_tool`.
        """
        hearing = Hearing(on_task=on_task, on_input=on_input, basis=basis or _nothing_seen)
        return await self._tools.wait(task_id, hearing, capabilities=capabilities or {}, responses=responses)

    async def tool_changes(self) -> AsyncIterator[ToolsChanged]:
        """Gives an event each time that the list of tools may be another one, the first at once.

        It ends at once after that where the server does not tell: it does not say that it would, or it is one of
        the older era over HTTP.

        Raises:
            ConnectionLost: the connection was cut, or the server is gone.
            RpcError, ProtocolError: as `list_tools`.
        """
        spoken = await self._connection.settle()
        tells = spoken.capabilities.get("tools")
        if not isinstance(tells, dict) or tells.get("listChanged") is not True:
            yield ToolsChanged()
        elif not spoken.is_legacy:
            async with self.listen(tools_changed=True) as events:
                yield ToolsChanged()
                async for event in events:
                    if isinstance(event, ToolsChanged):
                        yield event
            raise ConnectionLost("the server ended the subscription")
        else:
            messages = self._connection.unasked()
            yield ToolsChanged()
            if messages is not None:
                async for message in messages:
                    if message.get("method") == words.TOOLS_CHANGED:
                        yield ToolsChanged()
                raise ConnectionLost("the server has ended")


def _nothing_seen() -> None:
    return None
