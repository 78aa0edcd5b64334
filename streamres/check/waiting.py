"""Section 5, waiting: `waitMs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from streamres.check.answers import reading_of
from streamres.check.bench import History, demand_equal
from streamres.check.binding import place
from streamres.check.content import fold
from streamres.check.finding import NotTested, demand
from streamres.check.registry import clause, each_binding

if TYPE_CHECKING:
    from streamres.check.answers import Reading
    from streamres.check.bench import Bench


@each_binding("SR-5.4.a")
async def at_the_head_the_answer_is_held_until_the_time_is_up(bench: Bench) -> None:
    history = await _open(bench)
    waits = bench.stage.waits
    begun = anyio.current_time()
    reading = await _held(bench, history, waits.hold_s)
    seconds = anyio.current_time() - begun
    if reading.step and not history.made:
        return  # it changed by itself
    demand(not reading.step, "a delta, and nothing was committed")
    got = f"answered after {seconds:.2f} s, waitMs was {waits.hold_s * 1000:.0f} and nothing was committed"
    demand(seconds >= waits.hold_s - waits.early_s, got)
    demand(seconds <= waits.hold_s + waits.soon_s, got)


@clause("SR-5.4.a")
async def a_commit_ends_the_wait(bench: Bench) -> None:
    history = await _open(bench)
    waits = bench.stage.waits
    if not bench.stage.writer.writes:
        reading = await _held(bench, history, waits.patience_s)
        if not reading.step:
            what = f"nothing changed within {waits.patience_s:g} s"
            raise NotTested(f"{what}: --patience, --upload or --append-command")
        return
    before = history.head

    async def write_meanwhile() -> None:
        await anyio.sleep(waits.early_s)
        await bench.write(history)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write_meanwhile)
        reading = await _held(bench, history, _longest(bench), within_s=waits.early_s + waits.soon_s)
    demand(reading.is_delta and bool(reading.step), "an empty answer, and something was committed")
    after = await bench.snapshot(history.uri)
    folded = fold(bench.kind, before.content, reading.step, reading.exchange)
    demand_equal(bench, folded, after.content, "the content after the held answer")


@each_binding("SR-5.4.c")
async def in_every_other_case_wait_ms_delays_nothing(bench: Bench) -> None:
    history = await bench.history()
    cases: list[tuple[str, dict[str, Any]]] = [
        ("without since", {}),
        ("since an old cursor", {"since": history.points[0].cursor}),
    ]
    uri = history.uri
    if history.points[0].cursor == history.head.cursor:
        cases = cases[:1]
    for case, members in cases:
        await _demand_prompt(bench, uri, case, members)
    try:
        sealed = await bench.sealed()
    except NotTested:
        return
    await _demand_prompt(bench, sealed.uri, "since the seal", {"since": sealed.head.cursor})


async def _demand_prompt(bench: Bench, uri: str, case: str, members: dict[str, Any]) -> None:
    begun = anyio.current_time()
    wait_s = _longest(bench)
    await bench.read(uri, **members, waitMs=int(wait_s * 1000))
    seconds = anyio.current_time() - begun
    demand(seconds < bench.stage.waits.soon_s, f"{case}: answered after {seconds:.2f} s")


async def _open(bench: Bench) -> History:
    if bench.stage.writer.writes:
        return await bench.fresh(2)
    uri = await bench.stage.existing(bench.kind, open_only=True)
    if uri is None:
        raise NotTested(f"needs an open {bench.kind} resource")
    return History(uri, [await bench.snapshot(uri)], made=False)


async def _held(bench: Bench, history: History, wait_s: float, *, within_s: float | None = None) -> Reading:
    members = {"since": history.head.cursor, "waitMs": int(wait_s * 1000)}
    params = place(bench.binding, {"uri": history.uri}, members)
    most = wait_s + bench.stage.waits.soon_s if within_s is None else within_s
    answer = await bench.session.ask("resources/read", params, within_s=most)
    return reading_of(answer, bench.binding, bench.kind)


def _longest(bench: Bench) -> float:
    """A wait that the server honours, far above what any of its answers takes."""
    declared = bench.stage.settings.get("maxWaitMs")
    most = declared / 1000 if isinstance(declared, int) else 20.0
    return min(most, bench.stage.waits.soon_s * 4)
