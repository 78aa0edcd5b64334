"""The tasks extension (SEP-2663): `tasks/get`, `tasks/update`, `tasks/cancel`, and `notifications/tasks`."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from streamres.errors import InvalidParams, LimitExceeded, MissingCapability
from streamres.protocol import calls
from streamres.protocol.binding import binding_of, call_request
from streamres.protocol.calls import capabilities_of, declares_tasks, outputs_members, outputs_meta
from streamres.protocol.words import SUBSCRIPTION_META, TASK_STATUS, TASKS_EXTENSION
from streamres.server import Reply
from streamres.tools.calls import links_to
from streamres.tools.task import look_up, record_uri, want

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamres.limits import Limits
    from streamres.protocol.binding import Binding
    from streamres.protocol.jsonrpc import Request, RequestId
    from streamres.protocol.messages import Messages
    from streamres.store import Store, Watch
    from streamres.tools.registry import Registry
    from streamres.tools.task import Known


class Tasks:
    """The tasks that a store knows, whichever server runs them."""

    def __init__(self, store: Store, messages: Messages) -> None:
        self._store = store
        self._messages = messages

    async def get(self, request: Request) -> Reply:
        """Gives a task as it stands, with its outputs (SR-8.2)."""
        known = await self._known(request)
        binding = binding_of(request.params)
        links = await links_to(self._store, known.outputs, binding)
        members = {**known.task, **outputs_members(links, binding)}
        return Reply(self._messages.result(request.id, members, meta=outputs_meta(links, binding)))

    async def update(self, request: Request) -> Reply:
        """Takes responses to what a task asks; those to other keys are ignored."""
        known = await self._known(request)
        responses = request.params.get("inputResponses")
        if not isinstance(responses, dict):
            raise InvalidParams("params.inputResponses maps a key to a response")
        _, basis = call_request(request.params)
        await want(self._store, known.task["taskId"], {"responses": responses, "basis": basis})
        return Reply(self._messages.result(request.id, {}))

    async def cancel(self, request: Request) -> Reply:
        """Cancels a task; of one that has ended nothing changes."""
        known = await self._known(request)
        await want(self._store, known.task["taskId"], {"cancel": True})
        return Reply(self._messages.result(request.id, {}))

    async def _known(self, request: Request) -> Known:
        _demand(request)
        return await look_up(self._store, request.params.get("taskId"))

    async def notification(self, task_id: str, subscription: RequestId, binding: Binding | None) -> bytes:
        """Gives the notification of a task as it stands: what `get` would give.

        Raises:
            InvalidParams: it is not known any more.
        """
        known = await look_up(self._store, task_id)
        links = await links_to(self._store, known.outputs, binding)
        meta = {SUBSCRIPTION_META: subscription, **outputs_meta(links, binding)}
        params = {**known.task, **outputs_members(links, binding), "_meta": meta}
        return orjson.dumps({"jsonrpc": "2.0", "method": TASK_STATUS, "params": params})


class Listening:
    """What one subscription hears of tools and tasks.

    Raises:
        InvalidParams: a member of the filter has the wrong type.
        LimitExceeded: too many tasks.
        MissingCapability: it names tasks, and the client does not declare them.
    """

    def __init__(self, tools: Registry, tasks: Tasks, limits: Limits, request: Request) -> None:
        wanted = request.params.get("notifications")
        wanted = wanted if isinstance(wanted, dict) else {}
        ids = [] if (asked := wanted.get("taskIds")) is None else asked
        if not isinstance(ids, list) or not all(isinstance(task_id, str) for task_id in ids):
            raise InvalidParams("taskIds is a list of ids")
        if len(ids) > limits.subscription_uris:
            raise LimitExceeded("subscription_uris", limits.subscription_uris, "open a second subscription")
        if ids:
            _demand(request)
        self._tools = tools if wanted.get("toolsListChanged") is True and len(tools) else None
        self._seen = tools.changes
        self._tasks = tasks
        self._id = request.id
        self._binding = binding_of(request.params)
        self._by_uri = {record_uri(task_id): task_id for task_id in ids}

    async def honoured(self) -> dict[str, Any]:
        """Gives the members of the filter that are honoured: no task that is not known."""
        members: dict[str, Any] = {} if self._tools is None else {"toolsListChanged": True}
        for uri in self.uris:
            if await self.message(uri) is None:
                del self._by_uri[uri]
        return {**members, "taskIds": list(self._by_uri.values())} if self._by_uri else members

    @property
    def uris(self) -> Sequence[str]:
        """What is watched for it."""
        return list(self._by_uri)

    async def message(self, uri: str) -> bytes | None:
        """Gives the notification of a change at one of `uris`; None where there is nothing to say."""
        try:
            return await self._tasks.notification(self._by_uri[uri], self._id, self._binding)
        except InvalidParams:
            return None

    def news(self) -> bytes | None:
        """Gives the notification that the list of tools changed; None where it has not since the last time."""
        if self._tools is None or self._tools.changes == self._seen:
            return None
        self._seen = self._tools.changes
        return calls.tools_changed({SUBSCRIPTION_META: self._id})

    @contextmanager
    def waking(self, watch: Watch) -> Iterator[None]:
        """Wakes `watch` when the list of tools changes, while the context lasts."""
        with ExitStack() as stack:
            if self._tools is not None:
                stack.enter_context(self._tools.waking(watch))
            yield


def _demand(request: Request) -> None:
    if not declares_tasks(capabilities_of(request.params)):
        raise MissingCapability({"extensions": {TASKS_EXTENSION: {}}})
