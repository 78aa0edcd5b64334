"""Tools of a server: the list, and calls to their end, with all that comes before it and the tasks they become.

A call is cancelled by cancelling it here: over HTTP its stream is closed, over stdio the server is told, and a
task gets `tasks/cancel`.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio

from streamres.client.backoff import Backoff
from streamres.client.calls import (
    CallResult,
    InputRequired,
    OfferedTool,
    call_result,
    input_required,
    offered,
    requests_of,
    tools_page,
)
from streamres.client.messages import refusal
from streamres.client.request import PLAIN, Asking
from streamres.errors import ConnectionLost, ProtocolError, RpcError, StreamresError, TaskCancelled
from streamres.protocol import words
from streamres.protocol.error_codes import HEADER_MISMATCH
from streamres.protocol.parameters import HeaderArgument, argument_headers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.client.connection import Timeouts
    from streamres.client.hearing import Hearing, Responses
    from streamres.client.request import Spoken

logger = logging.getLogger("streamres.client")

POLL_MS: Final = 1_000
"""Milliseconds between two looks at a task whose server says nothing of that."""

_LEAST_POLL_MS: Final = 50
_PARTING_S: Final = 5.0
"""Seconds in which a server is told that a task is not wanted any more."""


class Link(Protocol):
    """A connection, as far as tools need it."""

    @property
    def has_headers(self) -> bool:
        """Says whether requests have headers, which repeat arguments."""
        ...

    async def settle(self) -> Spoken:
        """Gives what the server speaks."""
        ...

    async def exchange(self, method: str, params: Mapping[str, Any], asking: Asking = PLAIN) -> dict[str, Any]:
        """Gives the message that answers."""
        ...


class Tools:
    """The tools of one server."""

    def __init__(self, link: Link, timeouts: Timeouts) -> None:
        self._link = link
        self._timeouts = timeouts
        self._headers: dict[str, tuple[HeaderArgument, ...]] | None = None

    async def list(self) -> list[OfferedTool]:
        """Gives every tool; see `Client.list_tools`."""
        spoken = await self._link.settle()
        has_headers = self._link.has_headers and not spoken.is_legacy
        found: list[OfferedTool] = []
        params: dict[str, Any] = {}
        while True:
            page, cursor = tools_page(await self._ask(words.TOOLS_LIST, params))
            for entry in page:
                try:
                    found.append(offered(entry, has_headers=has_headers))
                except ValueError as exc:
                    logger.warning("the tool %r is left out: %s", entry.get("name"), exc)
            if cursor is None:
                break
            params = {"cursor": cursor}
        self._headers = {tool.name: tool.headers for tool in found}
        return found

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        hearing: Hearing,
        *,
        tasks: bool,
        capabilities: Mapping[str, Any],
        responses: Responses,
        state: str | None,
    ) -> CallResult | InputRequired:
        """Calls a tool to its end; see `Client.call_tool`."""
        spoken = await self._link.settle()
        tasks = tasks and not spoken.is_legacy
        can = _declared(capabilities, partials=hearing.on_partial is not None, tasks=tasks)
        begun = params = {"name": name, "arguments": dict(arguments), **_seen(hearing)}
        if responses or state is not None:
            params = _again(begun, responses, state)
        known_anew = spoken.is_legacy or not self._link.has_headers
        while True:
            if self._headers is None and not known_anew:
                await self.list()
            asking = Asking(
                capabilities=can,
                tokens=hearing.tokens,
                headers=argument_headers((self._headers or {}).get(name, ()), arguments),
                quiet_s=self._timeouts.call_s,
                hear=hearing.hear,
            )
            try:
                result = _outcome(await self._link.exchange(words.CALL, params, asking))
            except RpcError as exc:
                if exc.code != HEADER_MISMATCH or known_anew:
                    raise
                await self.list()  # the schema is another one meanwhile
                known_anew = True
                continue
            match result.get("resultType", "complete"):
                case "complete":
                    return call_result(result)
                case "input_required":
                    asked = input_required(result)
                    if hearing.on_input is None:
                        return asked
                    params = _again(begun, await hearing.on_input(asked.requests), asked.state)
                case "task" if tasks:
                    return await self.wait(_task_id(result), hearing, capabilities=capabilities, task=result)
                case other:
                    raise ProtocolError(f"a call was answered by a result of the type {other!r}")

    async def wait(
        self,
        task_id: str,
        hearing: Hearing,
        *,
        capabilities: Mapping[str, Any],
        responses: Responses | None = None,
        task: Mapping[str, Any] | None = None,
    ) -> CallResult | InputRequired:
        """Waits for the end of a task; see `Client.wait_task`."""
        asking = Asking(capabilities=_declared(capabilities, partials=False, tasks=True))
        answered: set[str] = set()
        try:
            while True:
                if responses:
                    answered |= responses.keys()
                    said = {"taskId": task_id, "inputResponses": dict(responses), **_seen(hearing)}
                    await self._ask(words.TASKS_UPDATE, said, asking)
                    responses = None
                if task is None:
                    task = await self._look(task_id, asking)
                if hearing.on_task is not None:
                    await hearing.on_task(task)
                match task.get("status"):
                    case "completed":
                        return call_result(task.get("result"))
                    case "failed":
                        raise refusal(task.get("error"))
                    case "cancelled":
                        message = task.get("statusMessage")
                        raise TaskCancelled(task_id, message if isinstance(message, str) else None)
                    case "input_required":
                        new = {key: asked for key, asked in requests_of(task).items() if key not in answered}
                        if new and hearing.on_input is None:
                            return InputRequired(requests=new, task_id=task_id)
                        if new and hearing.on_input is not None:
                            responses = await hearing.on_input(new)
                if not responses:
                    await anyio.sleep(_pause_s(task))
                task = None
        except anyio.get_cancelled_exc_class():
            await self._cancel(task_id, asking)
            raise

    async def _look(self, task_id: str, asking: Asking) -> Mapping[str, Any]:
        """Gives a task as it stands; it outlives a connection, so a server that is away is waited for."""
        backoff = Backoff(None)
        with anyio.move_on_after(self._timeouts.lost_s):
            while True:
                try:
                    return await self._ask(words.TASKS_GET, {"taskId": task_id}, asking)
                except ConnectionLost as exc:
                    await backoff.wait(exc)
        raise ConnectionLost(f"the server of the task {task_id!r} has been away for {self._timeouts.lost_s:g} s")

    async def _cancel(self, task_id: str, asking: Asking) -> None:
        with anyio.move_on_after(_PARTING_S, shield=True), suppress(StreamresError):
            await self._ask(words.TASKS_CANCEL, {"taskId": task_id}, asking)

    async def _ask(self, method: str, params: Mapping[str, Any], asking: Asking = PLAIN) -> dict[str, Any]:
        return _outcome(await self._link.exchange(method, params, asking))


def _declared(capabilities: Mapping[str, Any], *, partials: bool, tasks: bool) -> dict[str, Any]:
    said = dict(capabilities)
    if partials:
        said["partialResults"] = {}
    if tasks:
        said["extensions"] = {**said.get("extensions", {}), words.TASKS_EXTENSION: {}}
    return said


def _seen(hearing: Hearing) -> dict[str, str]:
    basis = hearing.basis()
    return {} if basis is None else {"basis": basis}


def _again(begun: Mapping[str, Any], responses: Responses, state: str | None) -> dict[str, Any]:
    """The call once more, with the responses; the state goes back as it came, and not at all where none came."""
    params = {**begun, "inputResponses": dict(responses)}
    return params if state is None else {**params, "requestState": state}


def _outcome(answer: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise refusal(answer["error"])
    if not isinstance(result := answer.get("result"), dict):
        raise ProtocolError("the server's answer has neither result nor error")
    return result


def _task_id(result: Mapping[str, Any]) -> str:
    if isinstance(task_id := result.get("taskId"), str):
        return task_id
    raise ProtocolError("a task has no taskId")


def _pause_s(task: Mapping[str, Any]) -> float:
    pause_ms = task.get("pollIntervalMs")
    if not isinstance(pause_ms, int | float):
        pause_ms = POLL_MS
    return max(pause_ms, _LEAST_POLL_MS) / 1000
