"""The reader's half of a subscription: what a chain of updates leads to, followed link by link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamres.check.answers import update_of
from streamres.check.bench import Point, demand_equal
from streamres.check.content import fold
from streamres.check.exchange import short
from streamres.check.finding import demand
from streamres.check.history import demand_digest
from streamres.check.subscription import UPDATED

if TYPE_CHECKING:
    from streamres.check.answers import Update
    from streamres.check.bench import Bench, History
    from streamres.check.subscription import Subscription


class Chain:
    """Follows the updates of one resource on one subscription with `deliver: "delta"`."""

    def __init__(self, bench: Bench, subscription: Subscription, history: History, begin: Point) -> None:
        self.updates: list[Update] = []
        self._bench = bench
        self._subscription = subscription
        self._history = history
        self._cursor = self._told = begin.cursor
        self._content = begin.content

    async def until(self, point: Point, *, clause: str) -> None:
        """Follows to a point, and demands its content there.

        Raises:
            Broken: by `clause` where it is not reached or has other content, else by what is wrong on the way.
        """
        bench = self._bench
        while not self._is_at(point):
            update = await self._subscription.update(bench.binding, bench.kind, clause=clause)
            await self._take(update)
        content = self._content
        if self._cursor != point.cursor:
            content = content[: len(point.content)]
        demand_equal(bench, content, point.content, "what the updates led to", clause=clause)

    async def stays_quiet(self, *, clause: str) -> None:
        """Demands that nothing follows; an end of the stream where the resource is sealed is none."""
        if not self._history.made and not self._history.head.reading.sealed:
            return  # it changes by itself
        while self._told != self._cursor:  # what a read has brought already is still told
            await self._take(await self._subscription.update(self._bench.binding, self._bench.kind, clause=clause))
        sealed = bool(self.updates) and self.updates[-1].sealed
        try:
            message = await self._subscription.next(self._bench.stage.waits.quiet_s)
        except TimeoutError:
            return
        ended = message is None or "result" in message
        demand(ended and sealed, f"surplus: {short(message)}", clause=clause, exchange=self._subscription.exchange)

    def _is_at(self, point: Point) -> bool:
        """Whether it was followed to a point; of a resource that grows by itself, to it or past it."""
        if self._cursor == point.cursor:
            return True
        grows = not self._history.made and self._bench.kind != "json"
        return grows and len(self._content) >= len(point.content)

    async def _take(self, update: Update) -> None:
        bench, exchange = self._bench, self._subscription.exchange
        got = f"an update of {update.uri}"
        demand(update.uri == self._history.uri, got, clause="SR-7.2.a", exchange=exchange)
        self.updates.append(update)
        told, self._told = self._told, update.cursor
        if update.is_delta:
            got = f"delta.from is {update.start_of_delta}, told before was {told}"
            demand(update.start_of_delta == told, got, clause="SR-6.3.a", exchange=exchange)
        got = f"{update.cursor} is told again, and nothing changed"
        demand(update.cursor != told, got, clause="SR-7.1.b", exchange=exchange)
        if update.start_of_delta == self._cursor:
            self._content = fold(bench.kind, self._content, update.step, exchange)
            self._cursor = update.cursor
            demand_digest(bench, update, self._content)
        elif update.cursor != self._cursor:
            await self._read()

    async def _read(self) -> None:
        """SR-6.3.d: a reader that cannot apply what it was sent reads since its own cursor."""
        bench = self._bench
        reading = await bench.read(self._history.uri, since=self._cursor)
        if reading.is_delta:
            self._content = fold(bench.kind, self._content, reading.step, reading.exchange)
        else:
            self._content = reading.content
        self._cursor = reading.cursor


async def cursors_until_seal(bench: Bench, subscription: Subscription, clause: str) -> list[Update]:
    """Gives every update up to the one that seals.

    Raises:
        Broken: by `clause` where the seal is not told.
    """
    updates = [await subscription.update(bench.binding, bench.kind, clause=clause)]
    while not updates[-1].sealed:
        updates.append(await subscription.update(bench.binding, bench.kind, clause=clause))
    return updates


def updates_in(bench: Bench, messages: list[dict[str, Any]], subscription: Subscription) -> list[Update]:
    """Gives the updates among messages."""
    return [
        update_of(message, bench.binding, bench.kind, subscription.exchange)
        for message in messages
        if message.get("method") == UPDATED
    ]
