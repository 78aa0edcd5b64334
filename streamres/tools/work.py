"""One call under way: runs the tool, owns its outputs, and knows how it ended.

A call runs in a task of its own, so that it can outlive the request that began it. However it ends, its outputs
are sealed: `complete` where the tool returned, else `aborted` with what they had.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

import anyio

from streamres.errors import (
    InvalidParams,
    ProtocolError,
    RpcError,
    StreamresError,
    ToolError,
)
from streamres.protocol.blocks import Text
from streamres.tools.asking import InputRequired, answers, demand_askable
from streamres.tools.context import Context
from streamres.tools.outputs import Outputs
from streamres.tools.result import ToolResult, result_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.limits import Limits
    from streamres.model import Kind, Seal
    from streamres.model.json_value import JsonValue
    from streamres.protocol.calls import CallRequest
    from streamres.sources.resource import Resource
    from streamres.store import Store
    from streamres.tools.asking import Foreign, Question, Round
    from streamres.tools.context import About
    from streamres.tools.outputs import Lease
    from streamres.tools.task import TaskRecord
    from streamres.tools.telling import Teller
    from streamres.tools.tool import Tool

logger = logging.getLogger("streamres.tools")


@dataclass(frozen=True, slots=True)
class Failed:
    """The call ends with a JSON-RPC error."""

    error: StreamresError


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The call was cancelled."""


End = ToolResult | InputRequired | Failed | Cancelled
"""How a call ended."""


class Work:
    """One call."""

    def __init__(
        self,
        tool: Tool,
        asked: CallRequest,
        reached: Round,
        store: Store,
        limits: Limits,
        *,
        teller: Teller | None,
        lease: Lease | None,
    ) -> None:
        self.id = token_urlsafe(16)
        """What nobody can guess: the URIs of outputs, and the task's id, have it."""
        self.tool = tool
        self.asked = asked
        self.reached = reached
        self.outputs = Outputs(store, limits, self.id, lease)
        """What it has made so far."""
        self.record: TaskRecord | None = None
        """What is kept of it as a task; None while it is a plain call."""
        self.context = Context(
            self,
            basis=asked.basis,
            capabilities=asked.capabilities,
            responses=asked.responses,
            state=asked.state,
        )
        self._wants_task = asyncio.Event()
        self._has_output = asyncio.Event()
        self._became_task = asyncio.Event()
        self._limits = limits
        self._teller = teller
        self.seconds = tool.timeout_s or limits.call_s
        """Seconds that it may take."""
        self._keys: set[str] = set()
        self._answered: dict[str, Any] = {}
        self._running: asyncio.Task[End] | None = None

    @property
    def started(self) -> bool:
        """Says whether the tool was started."""
        return self._running is not None

    def start(self) -> None:
        """Starts the tool."""
        self._running = asyncio.create_task(self._run(), name=f"call of {self.tool.name}")

    async def wait(self) -> End:
        """Gives how the call ended, once it has and its outputs are sealed."""
        running = self._begun()
        await asyncio.wait([running])
        return _end(running)

    async def wait_or_wish(self, timeout_s: float | None) -> End | None:
        """As `wait`, but gives None after so many seconds, or once the tool asks to go on as a task."""
        await self._wait_or(self._wants_task, timeout_s)
        running = self._begun()
        return _end(running) if running.done() else None

    async def wait_for_output(self, timeout_s: float) -> None:
        """Returns once there is an output, the call has ended, or so many seconds have passed."""
        await self._wait_or(self._has_output, timeout_s)

    async def _wait_or(self, event: asyncio.Event, timeout_s: float | None) -> None:
        other = asyncio.create_task(event.wait())
        try:
            await asyncio.wait([self._begun(), other], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            other.cancel()

    def _begun(self) -> asyncio.Task[End]:
        assert self._running is not None
        return self._running

    async def cancel(self) -> None:
        """Cancels the tool, and returns once its outputs are sealed, after `Limits.grace_s` at the latest."""
        running = self._begun()
        running.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([running])

    def hand_over(self, record: TaskRecord) -> None:
        """Goes on as a task."""
        self.record = record
        self._became_task.set()

    async def output(
        self, name: str, kind: Kind, uri: str | None, about: About, value: JsonValue = None
    ) -> Resource:
        """Makes an output; see `Context.text`."""
        made = await self.outputs.make(name, kind, uri, about, value)
        await self._name(made)
        return made

    async def link(self, resource: Resource) -> None:
        """Names a resource; see `Context.link`."""
        self.outputs.name(resource)
        await self._name(resource)

    async def _name(self, made: Resource) -> None:
        self._has_output.set()
        if self.record is not None:
            await self.record.named(made)
        elif self._teller is not None:
            self._teller.named(made)

    async def tell(self, value: float, total: float | None, message: str | None) -> None:
        """Tells how far it is; see `Context.progress`."""
        if self.record is not None:
            if message is not None:
                await self.record.working(message)
        elif self._teller is not None:
            self._teller.progressed(value, total, message)

    async def become_task(self) -> None:
        """Goes on as a task; see `Context.become_task`."""
        if self.record is None and self.asked.takes_tasks:
            self._wants_task.set()
            await self._became_task.wait()

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Any]:
        """Asks; see `Context.ask`."""
        if used := self._keys & questions.keys():
            raise InvalidParams(
                f"the question {min(used)!r} was asked before in this call; give each a key of its own"
            )
        self._keys |= questions.keys()
        for question in questions.values():
            demand_askable(question, self.asked.capabilities)
        if self.record is not None:
            return await self.record.ask(questions)
        known = {**self.asked.responses, **self.reached.answered}
        given = {key: known[key] for key, asked in questions.items() if answers(asked, known.get(key))}
        self._answered |= given
        if missing := {key: asked for key, asked in questions.items() if key not in given}:
            raise InputRequired(missing, self._answered)
        return given

    async def pass_on(self, questions: Mapping[str, Foreign], state: str) -> dict[str, Any]:
        """Asks what another server asks; see `Context.pass_on`."""
        if self.record is not None:
            return await self.ask(questions)
        for question in questions.values():
            demand_askable(question, self.asked.capabilities)
        raise InputRequired(questions, {}, state)

    async def _run(self) -> End:
        handling = asyncio.create_task(self._result(), name=f"tool {self.tool.name}")
        handling.add_done_callback(
            lambda task: task.cancelled() or task.exception()
        )  # of one that was left behind
        end: End = Cancelled()
        seal: Seal = "aborted"
        try:
            done, _ = await asyncio.wait([handling], timeout=self.seconds)
            if done:
                end, seal = self._ended(handling)
            else:
                await self._stop(handling)
                end = _error(f"{self.tool.name} did not end within {self.seconds:g} s")
        except asyncio.CancelledError:
            await self._stop(handling)
        with anyio.CancelScope(shield=True):
            await self.outputs.seal(seal)
        return end

    async def _stop(self, handling: asyncio.Task[ToolResult]) -> None:
        """Cancels the tool; one that does not end is left behind, and cannot write to its outputs any more."""
        handling.cancel()
        _, left = await asyncio.wait([handling], timeout=self._limits.grace_s)
        if left:
            logger.error("tool %s goes on though its call was cancelled", self.tool.name)

    def _ended(self, handling: asyncio.Task[ToolResult]) -> tuple[End, Seal]:
        try:
            return handling.result(), "complete"
        except InputRequired as exc:
            return exc, "aborted"
        except ToolError as exc:
            return _error(str(exc)), "aborted"
        except (ProtocolError, RpcError) as exc:
            return Failed(exc), "aborted"
        except (Exception, asyncio.CancelledError) as exc:
            logger.exception("tool %s failed", self.tool.name)
            return _error(f"{self.tool.name} failed: {type(exc).__name__}: {exc}"), "aborted"

    async def _result(self) -> ToolResult:
        value = await self.tool.handle(self.context, self.asked.arguments)
        if not isinstance(value, ToolResult):
            return result_of(self.tool.dumped(value))
        if self.tool.output_schema is not None and not value.is_error:
            self.tool.dumped(value.structured)
        return value


def _error(message: str) -> ToolResult:
    return ToolResult(content=[Text(message)], is_error=True)


def _end(running: asyncio.Task[End]) -> End:
    return Cancelled() if running.cancelled() else running.result()
