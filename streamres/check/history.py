"""Section 3: what a history promises, and the digest at its end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streamres.check.bench import demand_at, demand_equal
from streamres.check.content import digest
from streamres.check.finding import NotTested, demand
from streamres.check.registry import clause

if TYPE_CHECKING:
    from streamres.check.answers import Standing
    from streamres.check.bench import Bench, History
    from streamres.check.content import Content

_DIGEST: Final = re.compile(r"sha-256=:[A-Za-z0-9+/]{43}=:")


@clause("SR-3.1.a")
async def a_cursor_names_the_same_content_for_ever(bench: Bench) -> None:
    history = await bench.fresh(2)
    first, second = history.points[0], history.points[-1]
    for _ in range(2):
        await bench.grow(history)
        later = await bench.step(history.uri, second)
        demand_at(bench, history, later, "the content after the delta since an old cursor")
        if bench.kind != "json":
            earlier = await bench.step(history.uri, first, maxBytes=len(second.content) - len(first.content))
            demand_equal(bench, earlier.content, second.content, "the same step, read again later")


@clause("SR-3.1.b")
async def a_revision_is_one_commit(bench: Bench) -> None:
    history = await bench.fresh(4)
    revisions = [point.reading.revision for point in history.points]
    if not history.made:
        demand(revisions == sorted(set(revisions)), f"revisions of four commits: {revisions}")
        return
    expected = list(range(revisions[0], revisions[0] + len(revisions)))
    demand(revisions == expected, f"revisions of {len(revisions)} commits, one after the other: {revisions}")
    again = await bench.snapshot(history.uri)
    same = again.reading.revision == revisions[-1]
    demand(same, f"revision {again.reading.revision} after {revisions[-1]}, and nothing was committed")


@clause("SR-3.2", "SR-6.1.b")
async def a_snapshot_and_the_delta_after_it_give_the_content(bench: Bench) -> None:
    history = await bench.history()
    for point in history.points:
        folded = await bench.step(history.uri, point)
        demand_at(bench, history, folded, f"since {point.cursor}")


@clause("SR-3.4.a")
async def every_answer_at_the_seal_carries_the_digest(bench: Bench) -> None:
    history = await bench.sealed()
    if bench.kind == "json" and digest("json", history.head.content) is None:
        raise NotTested("the value is outside I-JSON")
    for reading in (
        await bench.read(history.uri),
        await bench.read(history.uri, since=history.points[0].cursor),
        await bench.read(history.uri, since=history.head.cursor),
    ):
        demand(reading.digest is not None, "no digest", exchange=reading.exchange)


@clause("SR-3.4.b")
async def the_digest_is_that_of_the_content(bench: Bench) -> None:
    history = await bench.sealed()
    whole = await bench.snapshot(history.uri)
    demand_digest(bench, whole.reading, whole.content)
    later = await bench.step(history.uri, history.points[0])
    demand_digest(bench, later.reading, later.content)


@clause("SR-3.4.c", kinds=("json",))
async def a_value_outside_i_json_has_no_digest(bench: Bench) -> None:
    history = await bench.fresh(1)
    number = [{"op": "add", "path": "/items/-", "value": 2**60 + 1}]
    await bench.write(history, number)
    await bench.seal(history)
    reading = await bench.read(history.uri)
    demand(reading.sealed, "not sealed")
    demand(reading.digest is None, f"a digest of a value with {2**60 + 1}: {reading.digest}")


@clause("SR-3.5.b", "SR-4.5")
async def what_is_compacted_leaves_the_head(bench: Bench) -> None:
    history = await bench.fresh(3)
    await bench.stage.writer.compact(history.uri, bench.kind)
    after = await bench.snapshot(history.uri)
    demand_at(bench, history, after, "after compaction", clause="SR-3.5.b")
    at_head = await bench.read(history.uri, since=history.head.cursor)
    got = f"the head's own cursor gives a snapshot with reset {at_head.reset}"
    demand(at_head.is_delta and not (at_head.step and history.made), got, clause="SR-4.5")


@clause("SR-3.6.b", kinds=("text", "blob"))
async def a_position_inside_a_revision_has_the_number_that_it_is_on_the_way_to(bench: Bench) -> None:
    history = await bench.fresh(3)
    _demand_made(history)
    for before, after in zip(history.points, history.points[1:], strict=False):
        point = before
        while point.cursor != after.cursor and len(point.content) < len(after.content):
            point = await bench.step(history.uri, point, maxBytes=5)
            if len(point.content) <= len(after.content):
                got = f"revision {point.reading.revision} on the way to {after.reading.revision}"
                demand(point.reading.revision == after.reading.revision, got)


def demand_digest(bench: Bench, standing: Standing, content: Content) -> None:
    """Demands that a digest has its form and proves the content; one that may be left out is not demanded."""
    expected = digest(bench.kind, content)
    if standing.digest is None or expected is None:
        return
    form = _DIGEST.fullmatch(standing.digest) is not None
    demand(form, f"digest is {standing.digest}", clause="SR-3.4.b", exchange=standing.exchange)
    got = f"digest is {standing.digest}, of the content it is {expected}"
    demand(standing.digest == expected, got, clause="SR-3.4.b", exchange=standing.exchange)


def _demand_made(history: History) -> None:
    if not history.made:
        raise NotTested("needs commits whose borders are known: --upload")
