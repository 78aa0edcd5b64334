"""What MCP itself demands and the note rests on. Every other check demands the same of what it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamres.check.answers import caching_hints
from streamres.check.finding import demand
from streamres.check.registry import clause, each_binding, once

if TYPE_CHECKING:
    from streamres.check.bench import Bench


@once("MCP-result-type", "MCP-response-id")
async def results_are_complete_and_answer_their_request(bench: Bench) -> None:
    for method in ("server/discover", "resources/list"):
        assert (await bench.session.ask(method)).result
    history = await bench.history()
    assert (await bench.answer(history.uri)).result


@once("MCP-caching-hints")
async def lists_and_reads_say_how_long_they_hold(bench: Bench) -> None:
    history = await bench.history()
    for answer in (
        await bench.session.ask("server/discover"),
        await bench.session.ask("resources/list"),
        await bench.session.ask("resources/read", {"uri": history.uri}),
        await bench.answer(history.uri),
        await bench.answer(history.uri, since=history.head.cursor),
    ):
        caching_hints(answer.result, answer.exchange)


@clause("MCP-ack-first", "MCP-subscription-id", every_kind=False)
async def a_subscription_is_acknowledged_first_and_every_frame_names_it(bench: Bench) -> None:
    history = await bench.history()
    first = history.points[0]
    async with bench.listen({history.uri: {"since": first.cursor, "deliver": "delta"}}) as subscription:
        await subscription.streams(bench.binding)
        if first.cursor != history.head.cursor:
            await subscription.update(bench.binding, bench.kind)


@each_binding("MCP-graceful-end")
async def an_end_by_the_server_is_a_result(bench: Bench) -> None:
    history = await bench.sealed()
    async with bench.listen({history.uri: {"since": history.head.cursor}}) as subscription:
        await subscription.streams(bench.binding)
        try:
            message = await subscription.next(bench.stage.waits.quiet_s)
        except TimeoutError:
            return  # SR-7.3.a: it may end, and need not
        got = f"the stream ended with {message or subscription.exchange.fault or 'nothing'}"
        demand(message is not None and "result" in message, got, exchange=subscription.exchange)
