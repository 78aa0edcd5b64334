"""One call through the bridge: made on the other server, kept while it works, and answered as that answers.

What the other server asks is passed on, and so is the state of the call, with a letter before it that says what it
is: the server's own, none at all, or the task that waits.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from streamres.bridge.assembly import Assembly
from streamres.client import CallResult, InputRequired
from streamres.client.hearing import outputs_of
from streamres.errors import InvalidParams, ProtocolError, RpcError, StreamresError, TaskCancelled, TransportError
from streamres.protocol import blocks
from streamres.protocol.error_codes import INTERNAL_ERROR
from streamres.protocol.words import SERVER_INFO_META
from streamres.tools import ToolResult
from streamres.tools.asking import Foreign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.client import Client, Listed, Progress
    from streamres.limits import Limits
    from streamres.store import Store
    from streamres.tools import Context

logger = logging.getLogger("streamres.bridge")

_ASKED: Final = ("elicitation", "sampling", "roots")
"""What a caller can be asked; the rest of what it can is between it and the bridge."""

_OWN, _NONE, _TASK = "s:", "-", "t:"


class BridgedCall:
    """One call."""

    def __init__(self, upstream: Client, store: Store, limits: Limits, name: str, context: Context) -> None:
        self._upstream = upstream
        self._limits = limits
        self._name = name
        self._context = context
        self._assembly = Assembly(context, store, limits)
        self._following: dict[str, asyncio.Task[None]] = {}
        self._capabilities = {name: context.capabilities[name] for name in _ASKED if name in context.capabilities}
        self._status: object = None
        self._looks = 0
        self._keys: set[str] = set()

    async def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Gives the result of the other server.

        Raises:
            RpcError: the other server refused, with its code and data; or it is gone.
        """
        try:
            result = await self._result(arguments)
            await self._until_followed()
            await self._assembly.end(result)
        except StreamresError:
            await self._assembly.end(None)
            raise
        finally:
            self._assembly.close()
            for task in self._following.values():
                task.cancel()
        return self._passed_on(result)

    async def _result(self, arguments: Mapping[str, Any]) -> CallResult:
        state, responses = self._context.state, self._context.responses
        while True:
            if state is not None and state != _NONE and not state.startswith((_OWN, _TASK)):
                raise InvalidParams("params.requestState is not one that was given here", reason="request_state")
            try:
                answer = await self._ask(arguments, state, responses)
            except TaskCancelled as exc:
                raise RpcError(INTERNAL_ERROR, str(exc), {"reason": "cancelled"}) from exc
            except (TransportError, ProtocolError) as exc:
                message = f"the server behind the bridge: {exc}"
                raise RpcError(INTERNAL_ERROR, message, {"reason": "upstream"}) from exc
            if isinstance(answer, CallResult):
                return answer
            keys = {self._new_key(key): key for key in answer.requests}
            questions = {new: Foreign(answer.requests[key]) for new, key in keys.items()}
            state = _wrapped(answer)
            # A plain call ends here, and comes again.
            given = await self._context.pass_on(questions, state)
            responses = {keys[new]: response for new, response in given.items()}

    async def _ask(
        self, arguments: Mapping[str, Any], state: str | None, responses: Mapping[str, Any]
    ) -> CallResult | InputRequired:
        if state is not None and state.startswith(_TASK):
            return await self._upstream.wait_task(
                state.removeprefix(_TASK),
                on_task=self._task,
                capabilities=self._capabilities,
                responses=responses,
            )
        return await self._upstream.call_tool(
            self._name,
            arguments,
            on_progress=self._progress,
            on_partial=self._assembly.take,
            on_outputs=self._outputs,
            on_task=self._task,
            tasks=True,
            capabilities=self._capabilities,
            responses=responses,
            state=None if state is None or state == _NONE else state.removeprefix(_OWN),
        )

    def _new_key(self, key: str) -> str:
        """The key, or one like it: in a task each is used once, and the other server does not know of it."""
        new, number = key, 1
        while new in self._keys:
            number += 1
            new = f"{key}-{number}"
        self._keys.add(new)
        return new

    async def _progress(self, progress: Progress) -> None:
        await self._context.progress(progress.value, progress.total, progress.message)
        if progress.message is not None:
            await self._assembly.line(progress.message)

    async def _outputs(self, outputs: list[Listed]) -> None:
        self._assembly.named(outputs)

    async def _task(self, task: Mapping[str, Any]) -> None:
        message = task.get("statusMessage")
        self._looks += 1
        if isinstance(message, str) and message != self._status:
            self._status = message
            await self._context.progress(self._looks, None, message)
            await self._assembly.line(message)
        # A task has no partials: its outputs are read on from where those ended (SR-11.1.d).
        outputs = outputs_of(task)
        self._assembly.named(outputs)
        for output in outputs:
            if output.kind is not None and output.uri not in self._following:
                self._following[output.uri] = asyncio.create_task(self._follow(output))

    async def _follow(self, output: Listed) -> None:
        try:
            async for update in self._upstream.follow(output.uri, self._assembly.cursors.get(output.uri)):
                await self._assembly.follow(update, output)
        except StreamresError as exc:
            logger.warning("an output of the server behind the bridge is not kept to its end: %s", exc)

    async def _until_followed(self) -> None:
        """Waits for the ends of outputs that were sealed before the result was there."""
        if self._following:
            await asyncio.wait(self._following.values(), timeout=self._limits.grace_s)

    def _passed_on(self, result: CallResult) -> ToolResult:
        content = [
            blocks.Foreign({name: value for name, value in block.items() if not _is_stream(block, name)})
            for block in result.content
            if block.get("type") != "resource_link" or not self._assembly.is_copied(block.get("uri"))
        ]
        meta = {name: value for name, value in result.meta.items() if name != SERVER_INFO_META}
        return ToolResult(content=content, structured=result.structured, is_error=result.is_error, meta=meta)


def _wrapped(asked: InputRequired) -> str:
    if asked.task_id is not None:
        return _TASK + asked.task_id
    return _NONE if asked.state is None else _OWN + asked.state


def _is_stream(block: Mapping[str, Any], name: str) -> bool:
    """Whether a member says what only a client of the other server could make use of."""
    return name == "stream" and block.get("type") == "resource_link"
