"""The producer's log as a server process has it: what was put out so far, and a wait for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from streamres.carriers.content import applied

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from streamres.carriers.content import Change, Kind, Value

URI = "work://log"
"""The resource that a work is, for carriers that have resources."""

TOOL = "work"
"""The tool that a work is, for carriers that have calls."""


class Source:
    """The work in one server process. A process that is started later has everything up to then, as of a log that
    is kept elsewhere; what a carrier itself remembers is gone with its process.
    """

    def __init__(self, kind: Kind, begin: Value, changes: Sequence[Change], keep: Path) -> None:
        self.kind = kind
        self.begin = begin
        """The content before the first change."""
        self.keep = keep
        """A folder that every server process of the work shares, for a carrier whose text has a store."""
        self._changes = changes
        self._values = [begin]
        self._ended = False
        self._news = anyio.Event()

    @property
    def value(self) -> Value:
        """The content by now; not to be changed."""
        return self._values[-1]

    @property
    def count(self) -> int:
        """Changes by now."""
        return len(self._values) - 1

    @property
    def ended(self) -> bool:
        """Says whether nothing follows."""
        return self._ended

    def value_at(self, count: int) -> Value:
        """Gives the content after so many changes."""
        return self._values[count]

    def change(self, index: int) -> Change:
        """Gives a change that was made, counted from 0."""
        assert index < self.count
        return self._changes[index]

    def advance(self, count: int, *, ended: bool = False) -> None:
        """Makes the changes up to the `count`-th, and ends."""
        while self.count < count:
            self._values.append(applied(self.value, self._changes[self.count]))
        self._ended = self._ended or ended
        self._news.set()
        self._news = anyio.Event()

    async def more(self, seen: int) -> bool:
        """Waits for more than `seen` changes, or the end; says whether there are more."""
        while self.count <= seen and not self._ended:
            await self._news.wait()
        return self.count > seen

    async def end(self) -> None:
        """Waits for the end."""
        while not self._ended:
            await self._news.wait()

    async def end_of_time(self) -> None:
        """Waits for ever: a stream in plain MCP stays open when the work has ended (SR-7.3.b)."""
        await anyio.sleep_forever()

    async def changes(self, seen: int = 0) -> AsyncIterator[tuple[int, Change]]:
        """Gives each change after the first `seen`, with how many there are with it, until the end."""
        while await self.more(seen):
            seen += 1
            yield seen, self.change(seen - 1)
