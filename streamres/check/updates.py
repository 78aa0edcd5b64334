"""Section 6: `notifications/resources/updated`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streamres.check.bench import demand_at
from streamres.check.chain import Chain, cursors_until_seal, updates_in
from streamres.check.content import digest
from streamres.check.finding import NotTested, demand
from streamres.check.history import demand_digest
from streamres.check.registry import clause, each_binding

if TYPE_CHECKING:
    from streamres.check.bench import Bench

_LARGE_BYTES: Final = 300_000
"""One append that no server should put in one notification, and every server takes."""


@clause("SR-6.1.a")
async def the_cursor_of_a_notification_is_there(bench: Bench) -> None:
    history = await bench.fresh(2)
    async with bench.listen({history.uri: {}}) as subscription:
        await subscription.streams(bench.binding)
        await bench.write(history)
        update = await subscription.update(bench.binding, bench.kind)
    reading = await bench.read(history.uri, since=update.cursor)
    demand(reading.is_delta, f"a read since it gives a snapshot with reset {reading.reset}")
    after = await bench.snapshot(history.uri)
    same = update.cursor == after.cursor and update.revision == after.reading.revision
    same = same or not history.made
    got = f"told {update.cursor} (revision {update.revision}), it stands at {after.cursor}"
    demand(same, got, exchange=subscription.exchange)


@each_binding("SR-6.2.a")
async def cursors_never_go_back(bench: Bench) -> None:
    history = await bench.fresh(2)
    first = history.points[0]
    async with bench.listen({history.uri: {"since": first.cursor, "deliver": "delta"}}) as subscription:
        await subscription.streams(bench.binding)
        for _ in range(5):
            await bench.write(history)
        messages = await subscription.drained()
        updates = updates_in(bench, messages, subscription)
    revisions = [update.revision for update in updates]
    demand(revisions == sorted(revisions), f"revisions in the order of their coming: {revisions}")
    cursors = [update.cursor for update in updates]
    once = [cursor for index, cursor in enumerate(cursors) if cursor not in cursors[:index]]
    demand(once == cursors, f"a cursor comes again: {cursors}", exchange=subscription.exchange)


@clause("SR-6.2.a")
async def after_a_replacement_no_cursor_of_the_life_before_comes(bench: Bench) -> None:
    history = await bench.fresh(2)
    async with bench.listen({history.uri: {}}) as subscription:
        await subscription.streams(bench.binding)
        await bench.write(history)
        await bench.stage.writer.replace(history.uri, bench.kind, b'"other"')
        new = (await bench.snapshot(history.uri)).cursor
        messages = await subscription.drained()
        cursors = [update.cursor for update in updates_in(bench, messages, subscription)]
    got = f"told were {cursors}, it stands at {new}"
    demand(bool(cursors) and cursors[-1] == new, got, exchange=subscription.exchange)


@clause("SR-6.3.a")
async def each_delta_begins_where_the_one_before_ended(bench: Bench) -> None:
    history = await bench.history()
    for begin in (history.points[0], history.points[len(history.points) // 2]):
        if begin.cursor == history.head.cursor:
            raise NotTested("needs a cursor before the head")
        wanted = {history.uri: {"since": begin.cursor, "deliver": "delta"}}
        async with bench.listen(wanted) as subscription:
            await subscription.streams(bench.binding)
            chain = Chain(bench, subscription, history, begin)
            await chain.until(history.head, clause="SR-7.1.a")
            demand(chain.updates[0].is_delta or bench.kind == "json", "deliver is delta, and none came")


@clause("SR-6.3.a")
async def without_since_the_first_delta_begins_at_the_acknowledged_cursor(bench: Bench) -> None:
    history = await bench.fresh(2)
    async with bench.listen({history.uri: {"deliver": "delta"}}) as subscription:
        await subscription.streams(bench.binding)
        chain = Chain(bench, subscription, history, history.head)
        for _ in range(2):
            await bench.grow(history)
            await chain.until(history.head, clause="SR-6.3.a")
        demand(chain.updates[0].is_delta, "deliver is delta, and none came", exchange=subscription.exchange)


@each_binding("SR-6.3.a")
async def without_deliver_a_notification_is_a_cursor_alone(bench: Bench) -> None:
    history = await bench.history()
    if history.points[0].cursor == history.head.cursor:
        raise NotTested("needs a cursor before the head")
    async with bench.listen({history.uri: {"since": history.points[0].cursor}}) as subscription:
        await subscription.streams(bench.binding)
        update = await subscription.update(bench.binding, bench.kind)
        demand(not update.is_delta, "a delta, and `deliver` is left out", exchange=subscription.exchange)


@clause("SR-6.3.b", kinds=("text", "blob"))
async def a_long_delta_goes_whole_or_as_a_chain(bench: Bench) -> None:
    history = await bench.fresh(1)
    async with bench.listen({history.uri: {"deliver": "delta"}}) as subscription:
        await subscription.streams(bench.binding)
        begin = history.head
        await bench.write(history, ("é" * (_LARGE_BYTES // 2)).encode())
        history.points.append(await bench.snapshot(history.uri))
        chain = Chain(bench, subscription, history, begin)
        await chain.until(history.head, clause="SR-6.3.b")


@clause("SR-6.3.c")
async def where_the_chain_breaks_the_cursor_comes_without_a_delta(bench: Bench) -> None:
    history = await bench.fresh(3)
    async with bench.listen({history.uri: {"deliver": "delta"}}) as subscription:
        await subscription.streams(bench.binding)
        await bench.stage.writer.replace(history.uri, bench.kind, b'"other"')
        update = await subscription.update(bench.binding, bench.kind)
        demand(not update.is_delta, "a delta across a replacement", exchange=subscription.exchange)
    whole = await bench.snapshot(history.uri)
    demand(whole.cursor == update.cursor, f"told {update.cursor}, it stands at {whole.cursor}")


@clause("SR-6.3.c")
async def a_resource_that_was_not_there_is_told_without_a_delta(bench: Bench) -> None:
    probe = await bench.fresh(1)
    if not probe.made:
        raise NotTested("needs a resource that is made meanwhile: --upload")
    uri = bench.stage.new_uri()
    async with bench.listen({uri: {"deliver": "delta"}}) as subscription:
        await subscription.streams(bench.binding)
        await bench.stage.writer.append(uri, bench.kind, bench.stage.piece(bench.kind, 0))
        update = await subscription.update(bench.binding, bench.kind)
        demand(not update.is_delta, f"a delta from {update.start_of_delta}", exchange=subscription.exchange)


@clause("SR-6.2.b", "SR-6.5")
async def the_seal_is_told_with_the_digest(bench: Bench) -> None:
    for deliver in ("cursor", "delta"):
        history = await bench.fresh(2)
        async with bench.listen({history.uri: {"deliver": deliver}}) as subscription:
            await subscription.streams(bench.binding)
            await bench.write(history)
            await bench.seal(history)
            *_, last = await cursors_until_seal(bench, subscription, "SR-6.2.b")
        sealed = await bench.snapshot(history.uri)
        expected = digest(bench.kind, sealed.content)
        got = "the notification that seals has no digest"
        demand(last.digest is not None or expected is None, got, clause="SR-6.5", exchange=subscription.exchange)
        demand_digest(bench, last, sealed.content)
        got = f"the seal is told at {last.cursor}, it stands at {sealed.cursor}"
        demand(last.cursor == sealed.cursor, got, clause="SR-6.5", exchange=subscription.exchange)


@each_binding("SR-6.1.b")
async def whoever_missed_notifications_recovers_by_a_read(bench: Bench) -> None:
    history = await bench.fresh(2)
    own = history.head
    async with bench.listen({history.uri: {}}) as subscription:
        await subscription.streams(bench.binding)
        await bench.grow(history)
    await bench.grow(history)
    after = await bench.catch_up(history.uri, own)
    demand_at(bench, history, after, "the content after a read since the own cursor")
