"""One history in memory and in a file, and whatever either says of it held beside what the other says.

Epochs are random in both, so they are compared by the order in which they came.
"""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from model.json_oracle import patched

from streamres.errors import LimitExceeded, StreamresError
from streamres.limits import Limits
from streamres.model import Append, Patch, Position, Reading, Snapshot
from streamres.store import MemoryStore
from streamres.store.sqlite import SqliteStore

from .scene import OTHER, URI

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from streamres.model import Kind
    from streamres.store import Store


@dataclass
class Both:
    """The same history in memory and in a file."""

    folder: Path
    kind: Kind
    limits: Limits
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    held: list[tuple[Position, Position]] = field(default_factory=list)
    documents: dict[Position, Any] = field(default_factory=dict)
    now: float = 1000.0

    @property
    def path(self) -> Path:
        return self.folder / "store.db"

    async def open(self) -> None:
        self.memory = MemoryStore(self.limits, clock=lambda: self.now)
        self.epochs: tuple[dict[int, int], dict[int, int]] = ({}, {})
        await self.reopen()

    async def reopen(self) -> None:
        await self.stack.aclose()
        self.files = [
            await self.stack.enter_async_context(SqliteStore.open(self.path, self.limits, clock=lambda: self.now))
            for _ in range(2)
        ]
        self.file = self.files[0]

    def by_any(self, data: st.DataObject) -> None:
        """Goes on by one of two stores over the same file, as two programs do."""
        self.file = self.files[data.draw(st.integers(0, 1), label="by")]

    async def do(self, act: Callable[[Store], Awaitable[object]]) -> object:
        """Does it to both, and compares what came of it: a result or a refusal, in words."""
        one, other = await outcome(act(self.memory)), await outcome(act(self.file))
        self.same(one, other)
        return one

    async def do_together(self, acts: list[Callable[[Store], Awaitable[object]]]) -> None:
        """Does all of it to the file in one transaction."""
        go = threading.Event()
        first = asyncio.ensure_future(self.file._write(lambda _: go.wait(), 0))
        tasks = [asyncio.ensure_future(outcome(act(self.file))) for act in acts]
        await asyncio.sleep(0)
        go.set()
        await first
        for act, other in zip(acts, await asyncio.gather(*tasks), strict=True):
            self.same(await outcome(act(self.memory)), other)

    def same(self, one: object, other: object) -> None:
        assert self.plain(0, one) == self.plain(1, other)

    def plain(self, which: int, value: Any) -> Any:  # noqa: ANN401
        """The value, with every epoch as the number of those before it."""
        match value:
            case Position():
                seen = self.epochs[which]
                return (seen.setdefault(value.epoch, len(seen)), value.revision, value.length)
            case LimitExceeded():
                return value.limit, value.value  # each has advice of its own
            case StreamresError():
                return type(value), str(value)
            case Reading():
                step = value.step
                return (
                    type(step),
                    None if isinstance(step, Snapshot) else self.plain(which, step.start),
                    step.begin if isinstance(step, Snapshot) else None,
                    self.plain(which, step.stop),
                    shown(value),
                    (value.state, value.digest, value.reset, value.more, value.causes),
                )
            case list():
                return [self.plain(which, item) for item in value]
            case _ if hasattr(value, "description"):
                return value.description, self.plain(which, value.head)
            case _ if hasattr(value, "position"):
                return self.plain(which, value.position), value.state, value.digest
            case _:
                return value

    async def look(self, data: st.DataObject) -> None:
        """Compares everything that anyone can learn."""
        self.by_any(data)
        await self.do(lambda store: store.entry(URI))
        for after in (None, URI, OTHER):
            await self.do(lambda store, after=after: store.list(after=after, limit=3))  # type: ignore[misc]
        heads = [(await store.entry(URI)).head.position for store in (self.memory, self.file)]
        if (heads[0], heads[1]) not in self.held:
            self.held.append((heads[0], heads[1]))
            if self.kind == "json":
                self.documents[heads[0]] = json.loads(shown(await self.memory.read(URI)))
        for max_bytes in (None, data.draw(st.integers(0, 40), label="max_bytes")):
            for tail_bytes in (None, data.draw(st.integers(0, 60), label="tail_bytes")):
                await self.read(None, max_bytes=max_bytes, tail_bytes=tail_bytes)
            for since in tuple(self.held):
                for append_op in (True, False) if self.kind == "json" else (True,):
                    await self.read(since, max_bytes=max_bytes, append_op=append_op)

    async def read(self, since: tuple[Position, Position] | None, **how: Any) -> None:  # noqa: ANN401
        one = await self.memory.read(URI, None if since is None else since[0], **how)
        other = await self.file.read(URI, None if since is None else since[1], **how)
        if self.kind == "json" and type(one.step) is not type(other.step):
            # A document's size is known about: each may give a delta where the other gives the smaller snapshot.
            self.leads_to_the_same(one, other, since)
            return
        self.same(one, other)
        stops = (one.step.stop, other.step.stop)
        if len(self.held) < 60 and stops not in self.held and self.kind != "json":
            self.held.append(stops)  # inside of a revision

    def leads_to_the_same(self, one: Reading, other: Reading, since: tuple[Position, Position] | None) -> None:
        assert since is not None
        for reading in (one, other):
            if isinstance(reading.step, Patch):
                folded = patched(self.documents[since[0]], json.loads(reading.step.operations))
            else:
                assert reading.reset == "smaller"
                folded = json.loads(shown(reading))
            assert folded == self.documents[self.held[-1][0]]


async def outcome(act: Awaitable[object]) -> object:
    try:
        return await act
    except StreamresError as exc:
        return exc


def shown(reading: Reading) -> bytes:
    step = reading.step
    if isinstance(step, Patch):
        return step.operations
    assert isinstance(step, Append | Snapshot)
    slices = list(step.slices())
    assert all(slices), "an empty slice: the walk may never end"
    return b"".join(slices)
