"""What a writer and a reader do, in every order: at each point where one can be overtaken by the other, it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from requirement import requirement

from streamres.model import Append, Description, Position

from .by_hand import Truth, cases, now, orders, scripts
from .scene import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from streamres.model import Head
    from streamres.store import Store, Watch

    from .by_hand import Write


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
