"""What a writer and a reader do, in every order: at each point where one can be overtaken by the other, it is.

The writer of a file has two points of its own: a batch is on the disk, and the loop hears of it. Between them, and
late, the store looks at what is in the file; another program writes beside it. In memory a write is one point.

There are some 31,000 orders. A run takes `STREAMRES_ORDERS` of each sort, the same ones every time; 0 takes all.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import combinations, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from requirement import requirement
from server.wire import envelope, message

from streamres import Limits
from streamres.client import wire
from streamres.model import Append, Description, Patch, Position, Reassembler, decode_cursor, encode_cursor
from streamres.server import Dispatcher, Stream
from streamres.store import MemoryStore
from streamres.store.sqlite import SqliteStore
from streamres.store.sqlite.writer import Writer

from .scene import text_of
from .test_sqlite_equivalence import IN_MEMORY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator

    from streamres.model import Head
    from streamres.store import Store, Watch

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
                store._find_news()
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


@dataclass
class Reading:
    """A reader with nothing but the store: watch, read, and read since whenever it was marked."""

    store: Store
    uri: str
    truth: Truth
    text: bytes = b""
    at: Position | None = None
    state: str = "open"
    told: list[Head] = field(default_factory=list)

    def steps(self) -> Iterator[Watch]:
        with self.store.watch([self.uri]) as watch:
            yield watch
            while self.state == "open":
                reading = now(self.store.read(self.uri, self.at))
                yield watch  # what it was given is taken only now
                text = text_of(reading)
                delta = isinstance(reading.step, Append)
                assert not delta or reading.step.start == self.at
                self.text = self.text + text if delta else text
                self.at, self.state = reading.step.stop, reading.state
                assert self.text == self.truth.lives[self.at.epoch][: self.at.length], "never silently wrong"
                while self.state == "open" and not watch.marked:
                    yield watch
                self.told += watch.take().values()
                yield watch


@requirement("S2")
@requirement("S3")
@requirement("SR-6.2")
@scripts
@cases
async def test_a_reader_is_exact_in_every_order(
    open_by_hand: Callable[..., Any],
    steps: str,
    script: list[Write],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer = steps.split()
    async with open_by_hand(monkeypatch) as by_hand:
        for number, order in zip(count(), orders(len(writer))):
            uri, truth = f"build://{number}/log", Truth()
            await (by_hand.other or by_hand.store).create(Description(uri=uri, name="log"), b"first ")
            truth.learn(by_hand.store, uri)
            reader = Reading(by_hand.store, uri, truth)
            reading, writing = reader.steps(), iter(writer)
            for readers in order:
                if readers:
                    next(reading, None)
                else:
                    await by_hand.step(next(writing), script, uri, truth)
            for _ in range(20):
                next(reading, None)

            assert reader.state != "open", f"never told of the end, in the order {order}"
            head = now(by_hand.store.entry(uri)).head
            assert (reader.at, reader.text) == (head.position, truth.lives[head.position.epoch])
            epochs = [told.position.epoch for told in reader.told]
            assert epochs == sorted(epochs, key=list(truth.lives).index), "a mark went back to replaced content"
            last = [told.position for told in reader.told if told.position.epoch == head.position.epoch]
            assert last == sorted(last, key=lambda position: position.revision), "a mark went back"


@dataclass
class Gated:
    """A store as a subscription sees it, which stops before and after each thing that it asks."""

    store: Store
    gate: Callable[[], Awaitable[None]]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.store, name)

    async def entry(self, uri: str) -> Any:  # noqa: ANN401
        await self.gate()
        entry = await self.store.entry(uri)
        await self.gate()
        return entry

    async def read(self, *args: Any, **how: Any) -> Any:  # noqa: ANN401
        await self.gate()
        reading = await self.store.read(*args, **how)
        await self.gate()
        return reading


class Subscriber:
    """One subscription of a real server, and its reader, who reads since where a chain cannot be kept."""

    def __init__(self, store: Store, uri: str, truth: Truth) -> None:
        self._store, self._uri, self._truth = store, uri, truth
        self._go = asyncio.Semaphore(0)
        self.free = False
        reading = now(store.read(uri))
        self.text = text_of(reading)
        self.cursor = encode_cursor(reading.step.stop, uri)
        self.reassembler = Reassembler(uri, since=self.cursor)
        self.ended = False
        self._dispatcher = Dispatcher(Gated(store, self._gate), Limits(), name="tested", version="1")  # type: ignore[arg-type]

    async def _gate(self) -> None:
        if not self.free:
            await self._go.acquire()

    def go(self) -> None:
        self._go.release()

    async def run(self) -> None:
        wanted = {"resourceStreams": {self._uri: {"since": self.cursor, "deliver": "delta"}}}
        params = {"notifications": wanted, "_meta": envelope("fields")}
        stream = await self._dispatcher.dispatch(message("subscriptions/listen", params))
        assert isinstance(stream, Stream)
        await stream.run(self._take)

    async def _take(self, body: bytes) -> None:
        await self._gate()
        frame = json.loads(body)
        if "result" in frame:
            self.ended = True
            return
        assert "error" not in frame, frame
        if frame["method"] != "notifications/resources/updated":
            return
        event = wire.updated(frame["params"])
        if event.update is not None and self.reassembler.delta(event.update) == "applied":
            self.text += event.update.data
        elif event.cursor != self.reassembler.cursor:
            self._read()
        at = decode_cursor(str(self.reassembler.cursor), self._uri)
        assert self.text == self._truth.lives[at.epoch][: at.length], "never silently wrong"

    def _read(self) -> None:
        cursor = str(self.reassembler.cursor)
        reading = now(self._store.read(self._uri, decode_cursor(cursor, self._uri)))
        step = reading.step
        assert not isinstance(step, Patch)
        delta = isinstance(step, Append)
        update = wire.Update(
            text=text_of(reading).decode(),
            since=encode_cursor(step.start, self._uri) if isinstance(step, Append) else None,
            cursor=encode_cursor(step.stop, self._uri),
            revision=step.stop.revision,
            state=reading.state,
            reset=None if delta else reading.reset,
            digest=reading.digest,
        )
        if delta:
            assert self.reassembler.delta(update) in ("applied", "duplicate")
            self.text += update.data
        else:
            self.reassembler.snapshot(update)
            self.text = update.data


@requirement("V3")
@requirement("SR-6.3")
@requirement("SR-7.1")
@scripts
@cases
async def test_the_chain_of_a_subscriber_is_exact_in_every_order(
    open_by_hand: Callable[..., Any],
    steps: str,
    script: list[Write],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer = steps.split()
    async with open_by_hand(monkeypatch) as by_hand:
        for number, order in zip(count(), orders(len(writer))):
            uri, truth = f"build://{number}/log", Truth()
            await (by_hand.other or by_hand.store).create(Description(uri=uri, name="log"), b"first ")
            truth.learn(by_hand.store, uri)
            subscriber = Subscriber(by_hand.store, uri, truth)
            running = asyncio.ensure_future(subscriber.run())
            writing = iter(writer)
            for readers in order:
                await settled()
                if readers:
                    subscriber.go()
                else:
                    await by_hand.step(next(writing), script, uri, truth)
            subscriber.free = True
            for _ in range(20):
                subscriber.go()
            with anyio.fail_after(5):
                await running

            head = now(by_hand.store.entry(uri)).head
            assert subscriber.ended
            assert subscriber.text == truth.lives[head.position.epoch]
            assert subscriber.reassembler.state == head.state


async def settled() -> None:
    """Lets everything run that can."""
    for _ in range(3):
        await asyncio.sleep(0)
