"""The extension of the note for the official Python SDK: declared, and its notifications bound."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
from mcp.client import ClientExtension, NotificationBinding
from pydantic import BaseModel, ConfigDict
from server.wire import EXTENSION


class Params(BaseModel):
    """What a notification of an extension says, as it came."""

    model_config = ConfigDict(extra="allow")


class Streams(ClientExtension):
    """Declares the extension of this note, and hears the notifications that a call leads to."""

    identifier = EXTENSION

    def __init__(self, **settings: object) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self._settings = {"binding": "meta", **settings}
        self._came = anyio.Event()

    def settings(self) -> dict[str, Any]:
        return self._settings

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        methods = ("notifications/tools/outputs", "notifications/tools/partial_result", "notifications/tasks")
        return [
            NotificationBinding(method=method, params_type=Params, handler=partial(self._hear, method))
            for method in methods
        ]

    async def _hear(self, method: str, params: Params) -> None:
        self.heard.append((method.rpartition("/")[2], params.model_dump()))
        self._came.set()
        self._came = anyio.Event()

    async def until(self, name: str, **members: object) -> dict[str, Any]:
        """The first notification of this name with such members."""
        with anyio.fail_after(5):
            while True:
                for heard, params in self.heard:
                    if heard == name and members.items() <= params.items():
                        return params
                await self._came.wait()

    @property
    def partials(self) -> list[dict[str, Any]]:
        """In their order; the SDK may hand them over in another."""
        partials = (params for name, params in self.heard if name == "partial_result")
        return sorted(partials, key=lambda one: one["seq"])
