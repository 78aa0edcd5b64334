"""A store whose writer is moved a step at a time, so that a reader can be put between any two of its steps.

The writer of a file has two points of its own: a batch is on the disk, and the loop hears of it. Between them, and
late, the store looks at what is in the file; another program writes beside it. In memory a write is one point.

There are some 31,000 orders. A run takes `STREAMRES_ORDERS` of each sort, the same ones every time; 0 takes all.
"""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from streamres.store import MemoryStore
from streamres.store.sqlite import SqliteStore
from streamres.store.sqlite.writer import Writer

from .scene import IN_MEMORY, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from streamres.store import Store

    Write = Callable[[Store, str], Coroutine[Any, Any, object]]

ORDERS = int(os.environ.get("STREAMRES_ORDERS", "25"))

READER_STEPS = 4
"""Steps of the reader that are put between those of the writer in every order; the rest of them come after."""

SCRIPTS: dict[str, list[Write]] = {
    "appends": [
        lambda store, uri: store.append(uri, b"a"),
        lambda store, uri: store.append(uri, "é".encode()),
        lambda store, uri: store.append(uri, b"c"),
        lambda store, uri: store.append(uri, b"", seal="complete"),
    ],
    "compaction": [
        lambda store, uri: store.append(uri, b"a"),
        lambda store, uri: store.append(uri, b"b"),
        lambda store, uri: store.compact(uri, 2),
        lambda store, uri: store.append(uri, b"c", seal="complete"),
    ],
    "replacement": [
        lambda store, uri: store.append(uri, b"a"),
        lambda store, uri: store.replace(uri, b"new"),
        lambda store, uri: store.append(uri, b" and on"),
        lambda store, uri: store.append(uri, b"", seal="aborted"),
    ],
}

SEQUENCES = {
    "told at once": "c0 t c1 t c2 t c3 t",
    "told late": "c0 c1 t t c2 c3 t t",
    "looks between": "c0 l t c1 l t c2 l t c3 l t",
    "looks before it is told of two": "c0 c1 l t t c2 c3 l t t",
    "together": "c01 t c23 t",
    "together, and looks": "c01 l t c23 l t",
    "another program": "o0 l o1 l o2 l o3 l",
    "by turns": "o0 c1 t l o2 c3 l t",
}
"""`c`: these writes go onto the disk; `t`: the loop hears of the eldest; `o`: by another program; `l`: looks."""


def now(coroutine: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401
    """What a coroutine gives that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


@dataclass
class Truth:
    """The content of each epoch, as far as it ever got."""

    lives: dict[int, bytes] = field(default_factory=dict)

    def learn(self, store: Store, uri: str) -> None:
        reading = now(store.read(uri))
        self.lives[reading.step.stop.epoch] = text_of(reading)


@dataclass
class ByHand:
    """A store whose writer is moved a step at a time."""

    store: Store
    other: SqliteStore | None = None
    untold: list[tuple[Any, ...]] = field(default_factory=list)
    tasks: list[asyncio.Task[object]] = field(default_factory=list)

    async def step(self, what: str, script: list[Write], uri: str, truth: Truth) -> None:
        store = self.store
        which = [script[int(number)] for number in what[1:]]
        match what[0], store:
            case "c", SqliteStore():
                self.tasks += [asyncio.ensure_future(write(store, uri)) for write in which]
                await asyncio.sleep(0)  # they ask
                await asyncio.sleep(0)  # and are handed over together
                batch = store._writer._batch()
                assert batch is not None
                assert len(batch) == len(which)
                self.untold.append((batch, *store._writer._written(batch)))
            case "t", SqliteStore():
                store._writer._tell(*self.untold.pop(0))
            case "o", _:
                assert self.other is not None
                await which[0](self.other, uri)
            case "l", SqliteStore():
                store._lookout.find_news()
            case "c", MemoryStore():
                for write in which:
                    await write(store, uri)
        truth.learn(store, uri)


@asynccontextmanager
async def in_memory(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ByHand]:
    yield ByHand(MemoryStore())


@asynccontextmanager
async def in_a_file(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ByHand]:
    # Thousands of writes, of which only the order counts: no disk.
    with TemporaryDirectory(prefix="streamres-", dir=IN_MEMORY) as folder:
        async with _by_hand(Path(folder) / "store.db", monkeypatch) as by_hand:
            yield by_hand


@asynccontextmanager
async def _by_hand(path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ByHand]:
    async with SqliteStore.open(path) as other:
        start = Writer.start
        monkeypatch.setattr(Writer, "start", lambda writer: None)
        monkeypatch.setattr(SqliteStore, "_look", lambda store: anyio.sleep_forever())
        async with SqliteStore.open(path) as store:
            by_hand = ByHand(store, other)
            try:
                yield by_hand
            finally:
                start(store._writer)
        await asyncio.gather(*by_hand.tasks)


CASES = [(in_memory, "c0 c1 c2 c3"), *((in_a_file, steps) for steps in SEQUENCES.values())]
cases = pytest.mark.parametrize(("open_by_hand", "steps"), CASES, ids=["in memory", *SEQUENCES])
scripts = pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)


def orders(writer_steps: int) -> Iterator[list[bool]]:
    """The orders in which the reader's steps fall between the writer's; True is the reader's."""
    every = list(combinations(range(writer_steps + READER_STEPS), READER_STEPS))
    for places in random.Random(writer_steps).sample(every, ORDERS) if 0 < ORDERS < len(every) else every:
        yield [place in places for place in range(writer_steps + READER_STEPS)]
