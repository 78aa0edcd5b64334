"""What a check works with: reads in one binding of one kind, and resources whose history is known."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from streamres.check.answers import Reading, reading_of
from streamres.check.binding import place
from streamres.check.content import fold, told
from streamres.check.finding import Broken, NotTested, demand, scene

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from streamres.check.binding import Binding
    from streamres.check.content import Content, Kind, Step
    from streamres.check.exchange import Answer
    from streamres.check.session import Session
    from streamres.check.stage import Stage
    from streamres.check.subscription import Subscription

_PAGES: Final = 6
"""Steps in which a history that was there before is walked."""


@dataclass(frozen=True, slots=True)
class Point:
    """A cursor that the server gave, and the content there."""

    reading: Reading
    content: Content

    @property
    def cursor(self) -> str:
        """The cursor."""
        return self.reading.cursor


@dataclass(slots=True)
class History:
    """One resource with what is known of it, oldest first; `made` where the check wrote all of it."""

    uri: str
    points: list[Point]
    made: bool
    steps: int = field(default=0)

    @property
    def head(self) -> Point:
        """The newest point."""
        return self.points[-1]


class Bench:
    """One binding and one kind, over a stage that is shared by all."""

    def __init__(self, stage: Stage, binding: Binding, kind: Kind) -> None:
        self.stage = stage
        self.binding = binding
        self.kind = kind

    @property
    def session(self) -> Session:
        """The connection."""
        return self.stage.session

    @property
    def declared(self) -> dict[str, Any]:
        """The settings by which this binding is declared."""
        return {"binding": self.binding}

    async def answer(self, uri: str, **members: object) -> Answer:
        """Gives the raw answer to a read; without members the extension is declared instead."""
        declared = None if members else self.declared
        params = place(self.binding, {"uri": uri}, members) if members else {"uri": uri}
        within_s = self.stage.waits.soon_s
        return await self.session.ask("resources/read", params, declared=declared, within_s=within_s)

    async def read(self, uri: str, **members: object) -> Reading:
        """Gives what a read says; raises Broken as `reading_of`."""
        return reading_of(await self.answer(uri, **members), self.binding, self.kind)

    async def snapshot(self, uri: str, **members: object) -> Point:
        """Gives a point by a read without `since`."""
        reading = await self.read(uri, **members)
        got = "a delta for a read without `since`"
        demand(not reading.is_delta, got, clause="SR-5.1.a", exchange=reading.exchange)
        return Point(reading, reading.content)

    async def step(self, uri: str, since: Point, **members: object) -> Point:
        """Gives the point that the delta since another leads to.

        Raises:
            Broken: the answer is no delta, or one from elsewhere.
        """
        reading = await self.read(uri, since=since.cursor, **members)
        got = f"a snapshot (reset {reading.reset}) for a cursor that the server gave"
        demand(reading.is_delta, got, clause="SR-5.2.a", exchange=reading.exchange)
        got = f"delta.from is {reading.start_of_delta}, since was {since.cursor}"
        demand(reading.start_of_delta == since.cursor, got, clause="SR-5.2.a", exchange=reading.exchange)
        return Point(reading, fold(self.kind, since.content, reading.step, reading.exchange))

    async def catch_up(self, uri: str, since: Point, **members: object) -> Point:
        """Gives the point at the head by as many steps as `more` asks for."""
        point = await self.step(uri, since, **members)
        while point.reading.more:
            before = point
            point = await self.step(uri, point, **members)
            got = "`more` and no step forward"
            demand(point.cursor != before.cursor, got, clause="SR-5.7.d", exchange=point.reading.exchange)
        return point

    @asynccontextmanager
    async def listen(
        self, streams: Mapping[str, Mapping[str, Any]], *, core: Mapping[str, Any] | None = None
    ) -> AsyncIterator[Subscription]:
        """Gives a subscription to these streams."""
        params = place(self.binding, {"notifications": dict(core or {})}, {"resourceStreams": streams})
        async with self.session.listen(params) as subscription:
            yield subscription

    async def history(self) -> History:
        """Gives a resource of this kind with several points, shared by the checks that only read."""
        return await self.stage.shared(self, "history", self._history)

    async def sealed(self) -> History:
        """Gives a sealed resource of this kind, shared."""
        return await self.stage.shared(self, "sealed", self._sealed)

    async def fresh(self, steps: int = 3) -> History:
        """Gives an open resource that the check can change; its own, where the writer makes resources.

        Raises:
            NotTested: nothing can be changed.
        """
        if not self.stage.writer.writes:
            raise NotTested("needs a resource that changes on demand: --upload or --append-command")
        with scene():
            return await self._fresh(steps)

    async def _fresh(self, steps: int) -> History:
        writer = self.stage.writer
        uri = self.stage.new_uri()
        try:
            await writer.append(uri, self.kind, self.stage.piece(self.kind, 0))
            there = writer.makes or "result" in (await self.answer(uri)).message
        except NotTested:
            if writer.makes:
                raise
            there = False
        if there:
            if not writer.makes:
                await self._demand_kind(uri)
            return await self._grown(History(uri, [await self.snapshot(uri)], made=True, steps=1), steps)
        # The commands write to what is there.
        existing = await self.stage.existing(self.kind, open_only=True)
        if existing is None:
            raise NotTested(f"the commands make no resource, and no open {self.kind} resource is there: --uri")
        return await self._grown(History(existing, [await self.snapshot(existing)], made=False), steps)

    async def grow(self, history: History) -> Point:
        """Makes one change, and gives the new head by a snapshot."""
        await self.write(history)
        point = await self.snapshot(history.uri)
        history.points.append(point)
        return point

    async def write(self, history: History, step: Step = None) -> None:
        """Makes one change and looks at nothing."""
        if step is None:
            step = self.stage.piece(self.kind, history.steps)
        history.steps += 1
        await self.stage.writer.append(history.uri, self.kind, step)

    async def seal(self, history: History) -> None:
        """Seals a resource."""
        if not history.made:
            raise NotTested("needs a resource of the check's own to seal: --upload")
        await self.stage.writer.seal(history.uri, self.kind)

    async def _demand_kind(self, uri: str) -> None:
        """Commands need not know kinds: what they made may be another."""
        made = await self.stage.given(uri)
        if made.kind != self.kind:
            raise NotTested(f"the --append-command makes a resource of kind {made.kind}")

    async def _grown(self, history: History, steps: int) -> History:
        while len(history.points) < steps:
            await self.grow(history)
        return history

    async def _history(self) -> History:
        if self.stage.writer.writes:
            return await self.fresh(4)
        # What is sealed stays as it is while it is read.
        uri = await self.stage.existing(self.kind, sealed_only=True) or await self.stage.existing(self.kind)
        if uri is None:
            raise NotTested(f"needs a {self.kind} resource with content: --uri, --upload or --append-command")
        return await self._walked(uri)

    async def _sealed(self) -> History:
        if self.stage.writer.writes:
            history = await self.fresh(3)
            await self.seal(history)
            history.points.append(await self.snapshot(history.uri))
        else:
            uri = await self.stage.existing(self.kind, sealed_only=True)
            if uri is None:
                raise NotTested(f"needs a sealed {self.kind} resource: --uri or --upload")
            history = await self._walked(uri)
        got = f"state is {history.head.reading.state} after the seal"
        demand(history.head.reading.sealed, got, clause="SR-5.11", exchange=history.head.reading.exchange)
        return history

    async def _walked(self, uri: str) -> History:
        """A resource that was there, in pages from its beginning."""
        whole = await self.snapshot(uri)
        if self.kind == "json":
            return History(uri, [whole], made=False)
        size = max(1, len(whole.content) // _PAGES)
        points = [await self.snapshot(uri, maxBytes=size)]
        while points[-1].reading.more and len(points) < _PAGES:
            points.append(await self.step(uri, points[-1], maxBytes=size))
        if points[-1].reading.more:
            points.append(await self.step(uri, points[-1]))
        return History(uri, points, made=False)


def demand_at(bench: Bench, history: History, point: Point, what: str, *, clause: str | None = None) -> None:
    """Demands that a point holds what the history's head does; of one that grows by itself, that it begins so.

    Raises:
        Broken: it does not.
    """
    head = history.head
    grown = not history.made and point.cursor != head.cursor
    if grown and bench.kind == "json":
        return
    content = point.content[: len(head.content)] if grown else point.content
    demand_equal(bench, content, head.content, what, clause=clause)


def demand_equal(
    bench: Bench, content: Content, expected: Content, what: str, *, clause: str | None = None
) -> None:
    """Demands that two contents are one.

    Raises:
        Broken: they are not; the text has both, shortened.
    """
    if content != expected:
        got = f"{what}: {told(bench.kind, content)} instead of {told(bench.kind, expected)}"
        raise Broken(got, clause=clause)
