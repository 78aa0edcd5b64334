"""Section 5: what a read answers, what it refuses, and how long it may be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streamres.check.bench import Point, demand_at, demand_equal
from streamres.check.exchange import short
from streamres.check.finding import NotTested, demand
from streamres.check.registry import clause, each_binding

if TYPE_CHECKING:
    from streamres.check.bench import Bench

_PATCHES: Final = 20
_PATCH_CHARS: Final = 8_000
"""Twenty patches of 8 kB that leave nothing: the value is a thousandth of the delta."""

_MALFORMED: Final = ("", "not a cursor", "\u0000", "é" * 40, "A" * 4_000)


@clause("SR-5.1.a")
async def a_read_without_since_gives_a_snapshot(bench: Bench) -> None:
    history = await bench.history()
    point = await bench.snapshot(history.uri)
    demand(not point.reading.more, "an unbounded snapshot says `more`")
    demand(point.reading.reset is None, f"a read without `since` says reset {point.reading.reset}")
    demand_at(bench, history, point, "the snapshot")
    if history.made and bench.kind != "json":
        pieces = (bench.stage.piece(bench.kind, number) for number in range(history.steps))
        demand_equal(bench, point.content, b"".join(pieces), "the snapshot")


@clause("SR-5.1.b")
async def every_answer_says_where_it_stands(bench: Bench) -> None:
    history = await bench.history()
    await bench.read(history.uri)
    await bench.read(history.uri, since=history.points[0].cursor)
    await bench.read(history.uri, since=history.head.cursor)
    if bench.kind != "json":
        await bench.read(history.uri, maxBytes=1)
        await bench.read(history.uri, tailBytes=1)


@clause("SR-5.1.c", kinds=("json",))
async def a_snapshot_of_a_json_says_so(bench: Bench) -> None:
    history = await bench.history()
    await bench.snapshot(history.uri)
    await bench.snapshot(history.uri, waitMs=1)


@clause("SR-5.2.a")
async def a_delta_leads_from_since_to_cursor(bench: Bench) -> None:
    history = await bench.history()
    for point in history.points:
        await bench.step(history.uri, point)


@each_binding("SR-5.2.b", "SR-5.6.b")
async def an_unknown_uri_is_an_error_that_names_it(bench: Bench) -> None:
    history = await bench.history()
    uri = bench.stage.new_uri()
    for members in ({}, {"since": history.head.cursor}, {"maxBytes": 1}, {"waitMs": 1}, {"tailBytes": 1}):
        answer = await bench.answer(uri, **members)
        got = f"an answer for a URI that does not exist: {short(answer.message)}"
        demand("error" in answer.message, got, clause="SR-5.2.b")
        right = answer.error["code"] == -32602 and answer.data.get("uri") == uri
        if "since" not in members or answer.data.get("reason") != "invalid_cursor":
            demand(right, f"refused with {short(answer.error)}", clause="SR-5.6.b")


@clause("SR-5.3.a")
async def since_the_head_the_delta_is_empty(bench: Bench) -> None:
    history = await bench.history()
    reading = await bench.read(history.uri, since=history.head.cursor)
    demand(reading.is_delta, f"a snapshot with reset {reading.reset} since the head")
    if reading.cursor != history.head.cursor and not history.made:
        raise NotTested("it changes while it is read")
    same = reading.start_of_delta == reading.cursor == history.head.cursor
    demand(same, f"from {reading.start_of_delta} to {reading.cursor}, since {history.head.cursor}")
    demand(not reading.step, "the delta since the head adds something")


@clause("SR-5.11")
async def before_the_seal_an_answer_says_open(bench: Bench) -> None:
    history = await bench.sealed()
    first = history.points[0]
    for members in ({"since": first.cursor, "maxBytes": 1}, {"maxBytes": 1}):
        reading = await bench.read(history.uri, **members)
        if not reading.more:
            continue
        got = f"an answer before the seal says {reading.state}, digest {reading.digest}"
        demand(reading.state == "open" and reading.digest is None, got)
    whole = await bench.read(history.uri, since=first.cursor)
    demand(whole.sealed, f"the answer at the seal says {whole.state}", exchange=whole.exchange)


@clause("SR-5.5.a", "SR-5.5.b")
async def a_cursor_that_cannot_be_served_gives_a_snapshot_and_says_so(bench: Bench) -> None:
    history = await bench.fresh(4)
    first = history.points[0]
    await bench.stage.writer.compact(history.uri, bench.kind)
    answer = await bench.answer(history.uri, since=first.cursor)
    got = f"an old cursor is refused: {short(answer.message.get('error'))}"
    demand("error" not in answer.message, got, clause="SR-5.5.b")
    reading = await bench.read(history.uri, since=first.cursor)
    if reading.is_delta:
        folded = await bench.step(history.uri, first)
        got = "the delta since an old cursor leads to other content"
        demand_at(bench, history, folded, got, clause="SR-5.5.b")
        raise NotTested("the server still gives the delta after the --compact-command")
    demand(reading.reset == "expired", f"a compacted cursor gives reset {reading.reset}", clause="SR-5.5.a")
    demand_at(bench, history, Point(reading, reading.content), "the snapshot after expired", clause="SR-5.5.a")


@clause("SR-5.5.a", "SR-5.5.b")
async def a_cursor_of_replaced_content_gives_a_snapshot_and_says_so(bench: Bench) -> None:
    history = await bench.fresh(3)
    await bench.stage.writer.replace(history.uri, bench.kind, b'"other"')
    whole = await bench.snapshot(history.uri)
    for point in history.points:
        answer = await bench.answer(history.uri, since=point.cursor)
        got = f"the cursor is refused: {short(answer.message.get('error'))}"
        demand("error" not in answer.message, got, clause="SR-5.5.b")
        reading = await bench.read(history.uri, since=point.cursor)
        got = f"as if the cursor had been another: delta {short(reading.start_of_delta)} to {reading.cursor}"
        demand(not reading.is_delta, got, clause="SR-5.5.b")
        demand(reading.reset == "epoch", f"reset {reading.reset} after a replacement", clause="SR-5.5.a")
        demand_equal(bench, reading.content, whole.content, "the snapshot after epoch", clause="SR-5.5.a")


@each_binding("SR-5.6.a")
async def a_malformed_since_is_refused(bench: Bench) -> None:
    history = await bench.history()
    cursor = history.head.cursor
    for since in (*_MALFORMED, cursor + "A", cursor[:-1], 7, ["c"], {"c": 1}):
        answer = await bench.answer(history.uri, since=since)
        if since in (cursor + "A", cursor[:-1]) and answer.message.get("result"):
            # Opaque: by chance it is a cursor. It is then served as one, never as the one it was made from.
            demand(not (await bench.read(history.uri, since=since)).is_delta, f"a delta since {short(since)}")
            continue
        got = f"since {short(since, 40)} was not refused"
        demand("error" in answer.message, got, exchange=answer.exchange)
        right = answer.error["code"] == -32602 and answer.data.get("reason") == "invalid_cursor"
        demand(right, f"since {short(since, 40)} is refused with {short(answer.error)}")


@clause("SR-5.9.a")
async def nothing_that_can_change_may_be_cached(bench: Bench) -> None:
    history = await bench.history()
    for reading in (
        await bench.answer(history.uri),
        await bench.answer(history.uri, since=history.points[0].cursor),
        await bench.answer(history.uri, since=history.head.cursor),
    ):
        if history.head.reading.sealed and "delta" not in short(reading.message, 10_000):
            continue
        ttl = reading.result.get("ttlMs")
        demand(ttl == 0, f"ttlMs is {short(ttl)}", exchange=reading.exchange)
    plain = await bench.session.ask("resources/read", {"uri": history.uri})
    if not history.head.reading.sealed:
        ttl = plain.result.get("ttlMs")
        demand(ttl == 0, f"ttlMs is {short(ttl)} for a plain client on an open resource")


@clause("SR-5.10", kinds=("json",))
async def a_snapshot_for_a_smaller_answer_says_so(bench: Bench) -> None:
    history = await bench.fresh(2)
    for number in range(_PATCHES):
        large = {"op": "add", "path": "/items/0", "value": f"{number}" * _PATCH_CHARS}
        await bench.write(history, [large, {"op": "remove", "path": "/items/0"}])
    reading = await bench.read(history.uri, since=history.points[0].cursor)
    if reading.is_delta:
        raise NotTested("the server gives the delta however large it is, which it may")
    demand(reading.reset == "smaller", f"reset {reading.reset}, and nothing was lost")
    whole = await bench.snapshot(history.uri)
    demand_equal(bench, reading.content, whole.content, "the snapshot")
