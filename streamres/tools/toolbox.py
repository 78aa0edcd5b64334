"""The tools of one server, as the dispatchers of its transports have them."""

from __future__ import annotations

from secrets import token_bytes
from typing import TYPE_CHECKING, Any

from streamres.protocol.messages import Messages
from streamres.protocol.words import (
    CALL,
    TASKS_CANCEL,
    TASKS_EXTENSION,
    TASKS_GET,
    TASKS_UPDATE,
    TOOLS_LIST,
)
from streamres.tools.calls import Calls
from streamres.tools.registry import Registry
from streamres.tools.tasks import Listening, Tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.limits import Limits
    from streamres.protocol.envelope import Era
    from streamres.protocol.jsonrpc import Request
    from streamres.server import Method
    from streamres.store import Store
    from streamres.tools.outputs import Lease


class Toolbox:
    """Tools and tasks over one store; nothing of them shows while there is no tool."""

    def __init__(
        self,
        store: Store,
        limits: Limits,
        *,
        name: str,
        version: str,
        key: bytes | None = None,
        lease: Lease | None = None,
    ) -> None:
        messages = Messages(name=name, version=version)
        self.tools = Registry()
        """The tools on offer."""
        self.calls = Calls(self.tools, store, messages, limits, key=key or token_bytes(32), lease=lease)
        """Their calls."""
        self._limits = limits
        self._tasks = tasks = Tasks(store, messages)
        both: dict[str, Method] = {TOOLS_LIST: self.calls.list, CALL: self.calls.call}
        of_tasks = {TASKS_GET: tasks.get, TASKS_UPDATE: tasks.update, TASKS_CANCEL: tasks.cancel}
        self._methods: dict[Era, Mapping[str, Method]] = {"modern": {**both, **of_tasks}, "legacy": both}

    def method(self, era: Era, name: str) -> Method | None:
        """Gives a method; None where it is none of tools or tasks, or there is no tool."""
        return self._methods[era].get(name) if len(self.tools) else None

    def capabilities(self) -> dict[str, Any]:
        """Gives what `server/discover` says beside resources."""
        return {"tools": {"listChanged": True}} if len(self.tools) else {}

    def extensions(self) -> dict[str, Any]:
        """Gives the extensions that it says."""
        return {TASKS_EXTENSION: {}} if len(self.tools) else {}

    def listening(self, request: Request) -> Listening:
        """Gives what a `subscriptions/listen` hears of tools and tasks."""
        return Listening(self.tools, self._tasks, self._limits, request)
