"""Section 7: `subscriptions/listen`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from streamres.check.binding import UPDATE_MEMBERS, added_members, place
from streamres.check.chain import Chain, updates_in
from streamres.check.exchange import short
from streamres.check.finding import Broken, NotTested, demand
from streamres.check.registry import clause, each_binding
from streamres.check.subscription import UPDATED, stream_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.check.bench import Bench
    from streamres.check.subscription import Subscription

_NO_MAKING: Final = "needs a resource that is made meanwhile: --upload"


@clause("SR-7.1.a", "SR-7.1.b")
async def what_came_since_follows_at_once_and_once(bench: Bench) -> None:
    history = await bench.history()
    begin = history.points[0]
    if begin.cursor == history.head.cursor:
        raise NotTested("needs a cursor before the head")
    async with bench.listen({history.uri: {"since": begin.cursor, "deliver": "delta"}}) as subscription:
        await subscription.streams(bench.binding)
        chain = Chain(bench, subscription, history, begin)
        await chain.until(history.head, clause="SR-7.1.a")
        await chain.stays_quiet(clause="SR-7.1.b")


@clause("SR-7.1.b")
async def what_is_committed_around_the_subscription_comes_once(bench: Bench) -> None:
    history = await bench.fresh(2)
    begin = history.head
    await bench.write(history)
    async with bench.listen({history.uri: {"since": begin.cursor, "deliver": "delta"}}) as subscription:
        await bench.write(history)
        await subscription.streams(bench.binding)
        await bench.write(history)
        history.points.append(await bench.snapshot(history.uri))
        chain = Chain(bench, subscription, history, begin)
        await chain.until(history.head, clause="SR-7.1.b")
        await chain.stays_quiet(clause="SR-7.1.b")


@each_binding("SR-7.1.a")
async def at_the_head_nothing_follows(bench: Bench) -> None:
    history = await bench.history()
    if history.head.reading.sealed:
        raise NotTested("needs an open resource")
    async with bench.listen({history.uri: {"since": history.head.cursor}}) as subscription:
        await subscription.streams(bench.binding)
        message = await subscription.surplus()
        quiet = message is None or not history.made
        demand(quiet, f"an update, and nothing changed: {short(message)}", clause="SR-7.1.b")


@each_binding("SR-7.2.a", "SR-7.2.b", "SR-7.2.d")
async def a_uri_that_ends_in_a_slash_covers_what_is_below(bench: Bench) -> None:
    above, there = await _below(bench)
    async with bench.listen({above: {"deliver": "delta"}}) as subscription:
        streams = await subscription.streams(bench.binding)
        stream_of(streams, above, subscription.exchange)
        message = await _quiet_or_end(bench, subscription, "SR-7.2.d")
        got = f"what stood below at the beginning is told: {short(message)}"
        demand(message is None, got, clause="SR-7.2.b", exchange=subscription.exchange)
        await bench.stage.writer.append(there, bench.kind, bench.stage.piece(bench.kind, 1))
        first = await subscription.update(bench.binding, bench.kind, clause="SR-7.2.a")
        got = f"told of {first.uri}, changed was {there}"
        demand(first.uri == there, got, clause="SR-7.2.a", exchange=subscription.exchange)
        got = "the first of a resource below is a delta"
        demand(not first.is_delta, got, clause="SR-7.2.b", exchange=subscription.exchange)
        new = f"{above}new"
        await bench.stage.writer.append(new, bench.kind, bench.stage.piece(bench.kind, 0))
        told = await subscription.update(bench.binding, bench.kind, clause="SR-7.2.a")
        got = f"told of {told.uri}, made was {new}"
        demand(told.uri == new and not told.is_delta, got, clause="SR-7.2.a", exchange=subscription.exchange)
        await bench.stage.writer.append(there, bench.kind, bench.stage.piece(bench.kind, 1))
        second = await subscription.update(bench.binding, bench.kind, clause="SR-7.2.a")
        chained = second.uri == there and second.start_of_delta in (first.cursor, None)
        got = f"the next is from {second.start_of_delta}, told before was {first.cursor}"
        demand(chained, got, clause="SR-6.3.a", exchange=subscription.exchange)
        for uri in (there, new):
            await bench.stage.writer.seal(uri, bench.kind)
        messages = await subscription.drained()
        ended = [message for message in messages if "result" in message]
        demand(not ended, "it ended when all below was sealed", clause="SR-7.2.d", exchange=subscription.exchange)
        sealed = {update.uri for update in updates_in(bench, messages, subscription) if update.sealed}
        got = f"the seals of {there} and {new}: told were {sorted(sealed)}"
        demand(sealed == {there, new}, got, clause="SR-7.2.a", exchange=subscription.exchange)


@each_binding("SR-7.2.c")
async def the_nearest_of_the_watched_uris_decides(bench: Bench) -> None:
    above, there = await _below(bench)
    before = await bench.snapshot(there)
    for outer, inner in (("cursor", "delta"), ("delta", "cursor")):
        async with bench.listen({above: {"deliver": outer}, there: {"deliver": inner}}) as subscription:
            await subscription.streams(bench.binding)
            await bench.stage.writer.append(there, bench.kind, bench.stage.piece(bench.kind, 1))
            update = await subscription.update(bench.binding, bench.kind)
            got = f"{above} asks for {outer}, {there} for {inner}; delta: {update.is_delta}"
            demand(update.is_delta == (inner == "delta"), got, exchange=subscription.exchange)
            surplus = await subscription.surplus()
            demand(surplus is None, f"told twice: {short(surplus)}", exchange=subscription.exchange)
    demand(before.cursor != (await bench.snapshot(there)).cursor, "nothing changed")


@each_binding("SR-7.3.a")
async def when_all_is_sealed_and_told_it_may_end_with_a_result(bench: Bench) -> None:
    history = await bench.fresh(2)
    async with bench.listen({history.uri: {}}) as subscription:
        await subscription.streams(bench.binding)
        await bench.seal(history)
        update = await subscription.update(bench.binding, bench.kind)
        demand(update.sealed, f"the state told is {update.state}", exchange=subscription.exchange)
        messages = await subscription.drained()
        got = f"after the seal: {short(messages)}"
        demand(all("result" in message for message in messages), got, exchange=subscription.exchange)


@clause("SR-7.3.b", bindings=("fields",), every_kind=False)
async def a_plain_subscription_does_not_end_at_the_seal(bench: Bench) -> None:
    history = await bench.sealed()
    fresh = await bench.fresh(1) if bench.stage.writer.writes else None
    uris = [history.uri] if fresh is None else [history.uri, fresh.uri]
    async with bench.session.listen({"notifications": {"resourceSubscriptions": uris}}) as subscription:
        await subscription.acknowledged()
        if fresh is not None:
            await bench.seal(fresh)
            await subscription.plain_update(clause="SR-10.1")
        message = await _quiet_or_end(bench, subscription, "SR-7.3.b")
        demand(message is None or "result" not in message, f"it ended: {short(message)}")


@each_binding("SR-7.4.a", "SR-7.4.b")
async def what_is_not_there_yet_is_watched_and_told(bench: Bench) -> None:
    uri = bench.stage.new_uri()
    async with bench.listen({uri: {"deliver": "cursor"}}) as subscription:
        streams = await subscription.streams(bench.binding)
        stream = streams.get(uri)
        got = f"acknowledged as {short(stream)}"
        holds = isinstance(stream, dict) and not stream.keys() & {"cursor", "revision", "state"}
        demand(holds, got, clause="SR-7.4.a", exchange=subscription.exchange)
        message = await _quiet_or_end(bench, subscription, "SR-7.4.a")
        demand(message is None, f"told before it is there: {short(message)}", clause="SR-7.4.a")
        if not (bench.stage.writer.writes and (await bench.fresh(1)).made):
            raise NotTested(_NO_MAKING)
        await bench.stage.writer.append(uri, bench.kind, bench.stage.piece(bench.kind, 0))
        update = await subscription.update(bench.binding, bench.kind, clause="SR-7.4.b")
        demand(update.uri == uri, f"told of {update.uri}", clause="SR-7.4.b", exchange=subscription.exchange)


@clause("SR-7.5.a")
async def each_stream_is_acknowledged_with_where_it_stands(bench: Bench) -> None:
    history = await bench.history()
    head = await bench.snapshot(history.uri)
    for wanted, deliver in (({}, "cursor"), ({"deliver": "delta"}, "delta")):
        for since in ({}, {"since": history.points[0].cursor}):
            async with bench.listen({history.uri: {**wanted, **since}}) as subscription:
                streams = await subscription.streams(bench.binding)
                stream = stream_of(streams, history.uri, subscription.exchange)
                expected = {
                    "cursor": head.cursor,
                    "revision": head.reading.revision,
                    "state": head.reading.state,
                    "deliver": deliver,
                }
                given = {name: stream.get(name) for name in expected}
                if not history.made:
                    given["cursor"], given["revision"] = head.cursor, head.reading.revision
                holds = given == expected and isinstance(stream.get("cursor"), str)
                got = f"acknowledged as {short(stream)}; it stands at {short(expected)}"
                demand(holds, got, exchange=subscription.exchange)


@each_binding("SR-7.5.b")
async def a_uri_that_is_refused_is_not_acknowledged(bench: Bench) -> None:
    if not bench.stage.forbidden:
        raise NotTested("needs a resource that the server refuses to this reader: --forbidden URI")
    history = await bench.history()
    for uri in bench.stage.forbidden:
        async with bench.listen({history.uri: {}, uri: {}}) as subscription:
            streams = await subscription.streams(bench.binding)
            demand(uri not in streams, f"acknowledged: {short(streams.get(uri))}", exchange=subscription.exchange)
            got = f"{history.uri} is left out too"
            demand(history.uri in streams, got, clause="SR-7.5.a", exchange=subscription.exchange)


@each_binding("SR-7.6")
async def a_malformed_filter_is_refused_as_a_whole(bench: Bench) -> None:
    history = await bench.history()
    good = {history.uri: {"since": history.head.cursor}}
    other = bench.stage.new_uri()
    malformed: list[tuple[str, Any]] = [
        ("a cursor that is none", {**good, other: {"since": "not a cursor"}}),
        ("a cursor of another resource", {**good, other: {"since": history.head.cursor}}),
        ("a since that is no string", {history.uri: {"since": 7}}),
        ("a deliver that is none", {**good, other: {"deliver": "everything"}}),
        ("a stream that is no object", {**good, other: []}),
        ("resourceStreams that is a list", [history.uri]),
    ]
    for what, streams in malformed:
        params = place(bench.binding, {"notifications": {}}, {"resourceStreams": streams})
        async with bench.session.listen(params) as subscription:
            try:
                answer = await subscription.refusal()
            except Broken as exc:
                raise Broken(f"{what}: {exc.got}", exchange=subscription.exchange) from exc
        got = f"{what} is refused with {short(answer.error)}"
        demand(answer.error["code"] == -32602, got, exchange=subscription.exchange)


@each_binding("SR-7.7")
async def in_both_filters_resource_streams_wins(bench: Bench) -> None:
    history = await bench.history()
    if history.points[0].cursor == history.head.cursor:
        raise NotTested("needs a cursor before the head")
    streams: Mapping[str, Any] = {history.uri: {"since": history.points[0].cursor, "deliver": "delta"}}
    async with bench.listen(streams, core={"resourceSubscriptions": [history.uri]}) as subscription:
        params = await subscription.acknowledged()
        got = f"the acknowledgement has no resourceStreams: {short(params)}"
        demand("resourceStreams" in short(params, 10_000), got, exchange=subscription.exchange)
        messages = await subscription.drained()
        plain = [
            message
            for message in messages
            if message.get("method") == UPDATED and not added_members(message["params"], UPDATE_MEMBERS)
        ]
        demand(not plain, f"also as a plain update: {short(plain)}", exchange=subscription.exchange)
        updates = updates_in(bench, messages, subscription)
        got = "no update since the cursor"
        demand(bool(updates), got, exchange=subscription.exchange)
        at_head = updates[-1].cursor == history.head.cursor or not history.made
        demand(at_head, f"told last is {updates[-1].cursor}", exchange=subscription.exchange)


async def _below(bench: Bench) -> tuple[str, str]:
    """A URI that ends in `/`, and a resource below it."""
    if not (bench.stage.writer.writes and (await bench.fresh(1)).made):
        raise NotTested(_NO_MAKING)
    above = f"{bench.stage.new_uri()}/"
    there = f"{above}there"
    await bench.stage.writer.append(there, bench.kind, bench.stage.piece(bench.kind, 0))
    return above, there


async def _quiet_or_end(bench: Bench, subscription: Subscription, clause_of_end: str) -> dict[str, Any] | None:
    """Gives what should not come; the end of the stream is a fault of its own."""
    try:
        message = await subscription.next(bench.stage.waits.quiet_s)
    except TimeoutError:
        return None
    got = f"the stream ended with {short(message)}"
    ended = message is None or "result" in message
    demand(not ended, got, clause=clause_of_end, exchange=subscription.exchange)
    return message
