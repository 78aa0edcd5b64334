"""`tools/list` and `tools/call`: a plain answer, a stream of what happens before it, or a task."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import anyio

from streamres.errors import (
    InvalidParams,
    MissingCapability,
    Overloaded,
    ResourceNotFound,
    StreamresError,
)
from streamres.protocol import jsonrpc
from streamres.protocol.blocks import link_members
from streamres.protocol.calls import outputs_members, outputs_meta, parse_call
from streamres.protocol.error_codes import code_of, data_of, message_of
from streamres.protocol.text import TextEncoder
from streamres.protocol.words import TASKS_EXTENSION
from streamres.server import Pending, Reply, Stream
from streamres.tools.asking import InputRequired, Round, States, request_of
from streamres.tools.forgetting import Forgetting
from streamres.tools.result import ToolResult, result_members
from streamres.tools.task import TaskRecord
from streamres.tools.telling import Teller
from streamres.tools.work import Cancelled, Failed, Work

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamres.limits import Limits
    from streamres.protocol.binding import Binding
    from streamres.protocol.calls import CallRequest
    from streamres.protocol.jsonrpc import Request
    from streamres.protocol.messages import Messages
    from streamres.server import Write
    from streamres.store import Store
    from streamres.tools.outputs import Lease
    from streamres.tools.registry import Registry
    from streamres.tools.tool import Tool
    from streamres.tools.work import End

logger = logging.getLogger("streamres.tools")

LIST_TTL_MS: Final = 60_000
"""For how long a client may keep the list of tools; one that listens hears of a change."""

SETTLE_S: Final = 0.05
"""Seconds that a task's answer waits for its first output, to name it at once (SR-8.2)."""

_GONE: Final = StreamresError("the server is ending, and the call was cancelled")


class Calls:
    """The calls of one server's tools."""

    def __init__(
        self,
        tools: Registry,
        store: Store,
        messages: Messages,
        limits: Limits,
        *,
        key: bytes,
        lease: Lease | None = None,
    ) -> None:
        self._tools = tools
        self._store = store
        self._messages = messages
        self._limits = limits
        self._states = States(key)
        self._lease = lease
        self._encoder = TextEncoder()
        self.outcomes: Counter[tuple[str, ...]] = Counter()
        """Calls that ended so far, by the tool and by how: `ok`, `error`, `asked`, `failed` or `cancelled`."""
        self._under_way: dict[str, Work] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._forgetting = Forgetting(store)

    @property
    def under_way(self) -> int:
        """Calls that have not ended, tasks too."""
        return len(self._under_way)

    async def list(self, request: Request) -> Reply:
        """Gives one page of the tools, in the order in which they were added."""
        after = request.params.get("cursor")
        if after is not None and not isinstance(after, str):
            raise InvalidParams("params.cursor is not the nextCursor of a list")
        size = self._limits.page_entries
        page = self._tools.page(after, size + 1)
        members: dict[str, Any] = {"tools": [tool.listed() for tool in page[:size]]}
        if len(page) > size:
            members["nextCursor"] = page[size - 1].name
        return Reply(self._messages.result(request.id, members, ttl_ms=LIST_TTL_MS))

    async def call(self, request: Request) -> Pending | Stream:
        """Begins a call.

        Raises:
            InvalidParams: there is no such tool, or a member is wrong.
            HeaderMismatch: a header does not repeat its argument.
            MissingCapability: the tool runs as a task alone.
            Overloaded: too many are under way.
        """
        asked = parse_call(request.id, request.params)
        tool = self._tools.find(asked.name)
        if request.headers is not None:
            tool.demand_headers(asked.arguments, request.headers.arguments)
        if tool.task_required and not asked.takes_tasks:
            raise MissingCapability({"extensions": {TASKS_EXTENSION: {}}})
        reached = Round() if tool.passes_on else self._states.read(asked.state, tool.name, asked.arguments)
        if len(self._under_way) >= self._limits.calls:
            raise Overloaded("calls", self._limits.calls, "call again when others have ended")
        if asked.listens and not (tool.task_after_s == 0 and asked.takes_tasks):
            return Stream(lambda write: self._stream(tool, asked, reached, write))
        return Pending(lambda: self._answer(tool, asked, reached))

    async def end_all(self) -> None:
        """Cancels every call, and returns once all outputs are sealed and all tasks have their end."""
        async with anyio.create_task_group() as group:
            for work in list(self._under_way.values()):
                group.start_soon(work.cancel)
        await self._forgetting.stop()
        if self._ending:
            await asyncio.wait(self._ending)

    async def _answer(self, tool: Tool, asked: CallRequest, reached: Round) -> Reply:
        work = self._work(tool, asked, reached, None)
        try:
            if tool.task_after_s == 0 and asked.takes_tasks:
                task = await self._hand_over(work)
                await work.wait_for_output(SETTLE_S)
                return Reply(await self._task_result(work, task))
            work.start()
            end = await work.wait_or_wish(tool.task_after_s if asked.takes_tasks else None)
            if end is None:
                return Reply(await self._task_result(work, await self._hand_over(work)))
            match end:
                case Failed(error=error):
                    raise error
                case Cancelled():
                    raise _GONE
                case _:
                    return Reply(await self._result(work, end))
        finally:
            await self._leave(work)

    async def _stream(self, tool: Tool, asked: CallRequest, reached: Round, write: Write) -> None:
        teller = Teller(self._store, self._encoder, self._limits, asked)
        work = self._work(tool, asked, reached, teller)
        telling = asyncio.create_task(teller.run(write))
        try:
            work.start()
            end = await work.wait_or_wish(tool.task_after_s if asked.takes_tasks else None)
            if end is None:
                task = await self._hand_over(work)
                teller.leave()
                await telling
                last = await self._task_result(work, task)
            else:
                teller.end()
                await telling
                last = await self._last(work, end)
        except Exception as exc:
            if not isinstance(exc, StreamresError):
                logger.exception("a call of %s failed", tool.name)
            last = _error(asked, exc if isinstance(exc, StreamresError) else StreamresError("internal error"))
        finally:
            telling.cancel()
            await self._leave(work)
        await write(last)

    def _work(self, tool: Tool, asked: CallRequest, reached: Round, teller: Teller | None) -> Work:
        work = Work(tool, asked, reached, self._store, self._limits, teller=teller, lease=self._lease)
        self._under_way[work.id] = work
        return work

    async def _leave(self, work: Work) -> None:
        """Cancels what goes on without being a task: its caller is gone."""
        if work.record is None:
            if work.started:
                await work.cancel()
                self._count(work, await work.wait())
            del self._under_way[work.id]
            self._forgetting.later(work.outputs.own_uris, self._limits.output_ttl_s)

    async def _hand_over(self, work: Work) -> dict[str, Any]:
        """Makes a task of the call, kept before anyone hears of it."""
        record = TaskRecord(self._store, self._limits, work, self._lease)
        with anyio.CancelScope(shield=True):
            task = await record.create()
            work.hand_over(record)
            if not work.started:
                work.start()
            ending = asyncio.create_task(self._finish(work, record))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        return task

    async def _task_result(self, work: Work, task: dict[str, Any]) -> bytes:
        binding = work.asked.form.binding
        links = await links_to(self._store, work.outputs.uris, binding)
        members = {"resultType": "task", **task, **outputs_members(links, binding)}
        return self._messages.result(work.asked.id, members, meta=outputs_meta(links, binding))

    async def _finish(self, work: Work, record: TaskRecord) -> None:
        end = await work.wait()
        self._count(work, end)
        try:
            match end:
                case Failed(error=exc):
                    error: dict[str, Any] = {"code": code_of(exc), "message": message_of(exc)}
                    if (data := data_of(exc)) is not None:
                        error["data"] = data
                    await record.end({"status": "failed", "error": error})
                case Cancelled() | InputRequired():
                    await record.end({"status": "cancelled"})
                case ToolResult():
                    members = {"resultType": "complete", **await self._members(work, end)}
                    await record.end({"status": "completed", "result": members})
        except StreamresError as exc:
            logger.error("how task %s ended cannot be kept: %s", work.id, exc)
        finally:
            del self._under_way[work.id]
            self._forgetting.later(record.uris, self._limits.task_ttl_s)
            self._forgetting.later(work.outputs.own_uris, self._limits.output_ttl_s)

    def _count(self, work: Work, end: End) -> None:
        match end:
            case ToolResult():
                outcome = "error" if end.is_error else "ok"
            case InputRequired():
                outcome = "asked"
            case Failed():
                outcome = "failed"
            case Cancelled():
                outcome = "cancelled"
        self.outcomes[work.tool.name, outcome] += 1

    async def _last(self, work: Work, end: End) -> bytes:
        match end:
            case Failed(error=error):
                return _error(work.asked, error)
            case Cancelled():
                return _error(work.asked, _GONE)
            case _:
                return await self._result(work, end)

    async def _result(self, work: Work, end: ToolResult | InputRequired) -> bytes:
        asked = work.asked
        if isinstance(end, ToolResult):
            members = await self._members(work, end)
        else:
            reached = Round(work.reached.count + 1, end.answered)
            members = {
                "resultType": "input_required",
                "inputRequests": {key: request_of(question) for key, question in end.questions.items()},
                "requestState": end.state or self._states.sign(asked.name, asked.arguments, reached),
            }
        return self._messages.result(asked.id, members, meta=members.pop("_meta", None))

    async def _members(self, work: Work, result: ToolResult) -> dict[str, Any]:
        uris = work.outputs.uris
        return result_members(result, await links_to(self._store, uris, work.asked.form.binding))


async def links_to(store: Store, uris: Iterable[str], binding: Binding | None) -> list[dict[str, Any]]:
    """Gives links to outputs as they stand; one that was removed meanwhile is left out."""
    links = []
    for uri in uris:
        with suppress(ResourceNotFound):
            links.append(link_members(await store.entry(uri), binding))
    return links


def _error(asked: CallRequest, exc: StreamresError) -> bytes:
    return jsonrpc.error(asked.id, code_of(exc), message_of(exc), data_of(exc))
