"""The tools that a server offers, and who is told when they change."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamres.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.store import Watch
    from streamres.tools.tool import Tool


class Registry:
    """Tools by name, in the order in which they were added."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._watches: set[Watch] = set()
        self.changes = 0
        """How often the list has changed."""

    def __len__(self) -> int:
        return len(self._tools)

    def add(self, tool: Tool) -> None:
        """Offers a tool.

        Raises:
            ValueError: there is one of this name.
        """
        if tool.name in self._tools:
            raise ValueError(f"there is a tool {tool.name!r} already")
        self._tools[tool.name] = tool
        self._changed()

    def remove(self, name: str) -> None:
        """Offers a tool no more; its calls go on.

        Raises:
            KeyError: there is none of this name.
        """
        del self._tools[name]
        self._changed()

    def find(self, name: str) -> Tool:
        """Gives a tool.

        Raises:
            InvalidParams: there is none of this name.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise InvalidParams(f"Unknown tool: {name}", reason="unknown_tool")
        return tool

    def page(self, after: str | None, size: int) -> list[Tool]:
        """Gives up to `size` tools, from the one after `after` on.

        Raises:
            InvalidParams: there is none of that name.
        """
        tools = list(self._tools.values())
        begin = 0 if after is None else tools.index(self.find(after)) + 1
        return tools[begin : begin + size]

    @contextmanager
    def waking(self, watch: Watch) -> Iterator[None]:
        """Wakes `watch` at each change while the context lasts."""
        self._watches.add(watch)
        try:
            yield
        finally:
            self._watches.discard(watch)

    def _changed(self) -> None:
        self.changes += 1
        for watch in self._watches:
            watch.wake()
