"""What a writer and a subscription do, in every order: the chain of deltas that its reader holds is exact."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio
from requirement import requirement
from server.wire import envelope, message

from streamres import Limits
from streamres.client import wire
from streamres.model import Append, Description, Patch, Reassembler, decode_cursor, encode_cursor
from streamres.server import Dispatcher, Stream

from .by_hand import Truth, cases, now, orders, scripts
from .scene import text_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import pytest

    from streamres.store import Store

    from .by_hand import Write


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
