"""Section 4: cursors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from streamres.check.answers import reading_of
from streamres.check.bench import demand_equal
from streamres.check.binding import place
from streamres.check.content import fold
from streamres.check.finding import NotTested, demand
from streamres.check.registry import clause, each_binding

if TYPE_CHECKING:
    from streamres.check.answers import Reading
    from streamres.check.bench import Bench

_LOOK_S = 0.05
"""Between two looks whether a replica has caught up."""


@clause("SR-4.2.a")
async def a_cursor_is_valid_on_a_replica(bench: Bench) -> None:
    replica = bench.stage.replica
    if replica is None:
        raise NotTested("needs a second server over the same store: --replica URL")
    history = await bench.history()
    head = history.head

    async def read_there(since: str) -> Reading:
        params = place(bench.binding, {"uri": history.uri}, {"since": since})
        return reading_of(await replica.ask("resources/read", params), bench.binding, bench.kind)

    deadline = anyio.current_time() + bench.stage.waits.soon_s
    while (await read_there(head.cursor)).reset == "ahead" and anyio.current_time() < deadline:  # noqa: ASYNC110
        await anyio.sleep(_LOOK_S)  # SR-5.5.a: it lags
    for point in history.points:
        reading = await read_there(point.cursor)
        got = f"the replica gives a snapshot with reset {reading.reset} since {point.cursor}"
        demand(reading.is_delta, got, exchange=reading.exchange)
        folded = fold(bench.kind, point.content, reading.step, reading.exchange)
        demand_equal(bench, folded, head.content, "the content after the replica's delta")


@each_binding("SR-4.3")
async def a_cursor_of_another_resource_is_malformed(bench: Bench) -> None:
    history = await bench.history()
    others = [other.uri for other in await bench.stage.listed() if other.uri != history.uri]
    if bench.stage.writer.writes and not (others and not history.made):
        others = [(await bench.fresh(1)).uri]
    if not others or others[0] == history.uri:
        raise NotTested("needs a second streamable resource")
    answer = await bench.answer(others[0], since=history.head.cursor)
    taken = "result" in answer.message
    demand(not taken, "the cursor of another resource was taken", exchange=answer.exchange)
    demand(answer.data.get("reason") == "invalid_cursor", f"refused with {answer.error}")


@each_binding("SR-4.4")
async def a_cursor_opens_nothing_that_is_refused(bench: Bench) -> None:
    if not bench.stage.forbidden:
        raise NotTested("needs a resource that the server refuses to this reader: --forbidden URI")
    history = await bench.history()
    for uri in bench.stage.forbidden:
        for members in ({}, {"since": history.head.cursor}, {"maxBytes": 1}, {"tailBytes": 1}):
            answer = await bench.answer(uri, **members)
            demand("error" in answer.message, "a forbidden resource was read", exchange=answer.exchange)
