"""The tasks extension (SEP-2663) for the official Python SDK: a result claim that drives a task to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeVar

import anyio
import mcp_types as types
from mcp.client import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientSession
from pydantic import ConfigDict

from .tool_site import TASKS

ResultT = TypeVar("ResultT", bound=types.Result)
Answer = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Is given a request of a task by its key, and gives the response."""


class TaskParams(types.RequestParams):
    model_config = ConfigDict(extra="allow")
    task_id: str


class TaskRequest(types.Request[TaskParams, str]):
    name_param = "taskId"


class Task(types.Result):
    """A task: as the result of a call, or as it stands."""

    model_config = ConfigDict(extra="allow")
    task_id: str
    status: str


class Created(Task):
    result_type: Literal["task"] = "task"


class Tasks(ClientExtension):
    """Polls each task that a call becomes, and keeps what it saw of it."""

    identifier = TASKS

    def __init__(self, answer: Answer) -> None:
        self.seen: list[Task] = []
        self._answer = answer

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Created, resolve=self._resolve)]

    async def _resolve(self, task: Created, context: ClaimContext) -> types.CallToolResult:
        self.seen.append(task)
        answered: set[str] = set()
        while True:
            now = await ask(context.session, "tasks/get", task.task_id, Task)
            self.seen.append(now)
            said = now.model_extra or {}
            match now.status:
                case "completed":
                    return types.CallToolResult.model_validate(said["result"])
                case "failed" | "cancelled":
                    raise RuntimeError(f"the task has {now.status}: {said.get('error')}")
                case "input_required":
                    new = {key: asked for key, asked in said["inputRequests"].items() if key not in answered}
                    responses = {key: await self._answer(key, request) for key, request in new.items()}
                    answered |= new.keys()
                    update = {"inputResponses": responses}
                    await ask(context.session, "tasks/update", task.task_id, types.EmptyResult, **update)
            await anyio.sleep(said["pollIntervalMs"] / 1000)


async def ask(
    session: ClientSession, method: str, task_id: str, result: type[ResultT], **params: object
) -> ResultT:
    """Sends a request about a task."""
    request = TaskRequest(method=method, params=TaskParams(task_id=task_id, **params))
    return await session.send_request(request, result)
