"""Section 5, bounds: `maxBytes`, `more`, `tailBytes` and `start`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streamres.check.bench import demand_equal
from streamres.check.exchange import short
from streamres.check.finding import NotTested, demand
from streamres.check.registry import clause, each_binding

if TYPE_CHECKING:
    from streamres.check.bench import Bench, History, Point

_SIZES: Final = (4, 7, 64)
_WALK: Final = 2_000
"""Most steps of a walk to the head."""

_SINGLE_STEPS: Final = 24
"""Steps of one byte or code point: past the first few that a text of any language has."""


@clause("SR-5.7.a")
async def max_bytes_bounds_snapshot_and_delta(bench: Bench) -> None:
    history = await bench.history()
    first = history.points[0]
    if bench.kind != "json":
        for size in _SIZES:
            point = await bench.snapshot(history.uri, maxBytes=size)
            _demand_bounded(bench, point.content, size)
            step = await bench.step(history.uri, first, maxBytes=size)
            added = step.content[len(first.content) :]
            _demand_bounded(bench, added, size)
    declared = bench.stage.settings.get("maxBytes")
    if isinstance(declared, int):
        above = await bench.step(history.uri, first, maxBytes=declared * 2 + 1)
        reached = bench.kind == "json" or len(above.content) - len(first.content) <= declared
        demand(reached, f"more than the server's own maxBytes of {declared}")


@clause("SR-5.7.b")
async def an_answer_that_stops_short_says_more(bench: Bench) -> None:
    history = await bench.history()
    head = await bench.snapshot(history.uri)
    _demand_still(history, head)
    for size in _SIZES:
        point = history.points[0]
        for _ in range(_WALK):
            before = point
            point = await bench.step(history.uri, point, maxBytes=size)
            at_head = point.cursor == head.cursor
            demand(at_head != point.reading.more, f"more is {point.reading.more}, at the head: {at_head}")
            if not point.reading.more:
                break
            got = "`more`, and the cursor stays where it was"
            demand(point.cursor != before.cursor, got, clause="SR-5.7.d")
        demand_equal(bench, point.content, head.content, f"what was read on by {size}")
    if bench.kind == "json":
        return
    bounded = await bench.snapshot(history.uri, maxBytes=8)
    short_of_it = bounded.cursor != head.cursor
    demand(short_of_it == bounded.reading.more, f"a bounded snapshot says more {bounded.reading.more}")
    rest = await bench.catch_up(history.uri, bounded, maxBytes=64)
    demand_equal(bench, rest.content, head.content, "a bounded snapshot and what was read on from it")


@clause("SR-5.7.c", kinds=("json",))
async def a_json_delta_stops_at_a_patch_boundary(bench: Bench) -> None:
    history = await bench.fresh(5)
    known = {point.cursor: point.content for point in history.points}
    point = history.points[0]
    for _ in range(len(known)):
        point = await bench.step(history.uri, point, maxBytes=1)
        got = f"a step ends at {point.cursor}, where no patch ended"
        demand(point.cursor in known or not history.made, got)
        if point.cursor in known:
            demand_equal(bench, point.content, known[point.cursor], "after a bounded step")
        if not point.reading.more:
            return


@clause("SR-5.7.e", kinds=("json",))
async def a_json_snapshot_is_whole(bench: Bench) -> None:
    history = await bench.history()
    for members in ({"maxBytes": 1}, {"tailBytes": 1}, {"tailBytes": 0}, {"maxBytes": 5, "tailBytes": 3}):
        point = await bench.snapshot(history.uri, **members)
        _demand_still(history, point)
        demand_equal(bench, point.content, history.head.content, f"with {short(members)}")
        part = point.reading.more or point.reading.start
        demand(not part, f"with {short(members)}: more {point.reading.more}, start {point.reading.start}")


@clause("SR-5.7.d")
async def one_step_is_always_made(bench: Bench) -> None:
    history = await bench.history()
    point = history.points[0]
    for _ in range(_SINGLE_STEPS):
        if point.cursor == history.head.cursor:
            return
        before = point
        point = await bench.step(history.uri, point, maxBytes=1)
        demand(point.cursor != before.cursor, "nothing was given, and something was left")


@clause("SR-5.8.a", kinds=("text", "blob"))
async def a_tail_begins_at_a_line(bench: Bench) -> None:
    history = await bench.history()
    whole = history.head.content
    for size in _tails(whole):
        reading = (tail := await bench.snapshot(history.uri, tailBytes=size)).reading
        _demand_still(history, tail)
        wanted = len(whole) - size
        line = whole.find(b"\n", wanted - 1) + 1 if wanted > 0 else 0
        if wanted > 0 and whole[wanted - 1 : wanted] != b"\n" and not (0 < line < len(whole)):
            continue  # no line starts in reach
        got = f"tailBytes {size} of {len(whole)} begins at {reading.start}, a line begins at {max(line, 0)}"
        demand(reading.start == line, got)


@clause("SR-5.8.b", kinds=("text", "blob"))
async def start_is_where_a_tail_begins(bench: Bench) -> None:
    history = await bench.history()
    whole = history.head.content
    for size in (*_tails(whole), len(whole), len(whole) + 100):
        point = await bench.snapshot(history.uri, tailBytes=size)
        start = point.reading.start
        _demand_still(history, point)
        demand_equal(bench, point.content, whole[start:], f"tailBytes {size} of {len(whole)}, start {start}")
        if size >= len(whole):
            demand(start == 0, f"start is {start} for the whole content")
        demand(point.cursor == history.head.cursor, "a tail does not stand at the head")


@each_binding("SR-5.8.c")
async def tail_bytes_with_since_is_refused(bench: Bench) -> None:
    history = await bench.history()
    answer = await bench.answer(history.uri, since=history.head.cursor, tailBytes=10)
    demand("error" in answer.message, "not refused", exchange=answer.exchange)
    right = answer.error["code"] == -32602 and answer.data.get("reason") == "invalid_params"
    demand(right, f"refused with {short(answer.error)}")


def _demand_still(history: History, point: Point) -> None:
    if point.cursor != history.head.cursor and not history.made:
        raise NotTested("it changes while it is read; a sealed resource would not")


def _tails(whole: bytes) -> list[int]:
    if not whole:
        raise NotTested("needs a resource with content")
    return [1, 3, len(whole) // 2, len(whole) - 1]


def _demand_bounded(bench: Bench, given: bytes, size: int) -> None:
    length = len(given)
    holds = length <= size
    if not holds and bench.kind == "text":
        # SR-5.7.d: one code point, even where that passes maxBytes
        holds = len(given.decode("utf-8", "replace")) == 1
    demand(holds, f"{length} bytes for maxBytes {size}")
