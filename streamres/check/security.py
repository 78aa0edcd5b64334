"""Sections 12 and 13: hostile input, limits, and the errors of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from streamres.check.binding import place
from streamres.check.exchange import short
from streamres.check.finding import Broken, NotTested, demand
from streamres.check.limits import HOSTILE_CURSOR_CHARS, MANY_URIS
from streamres.check.registry import clause, each_binding, once
from streamres.check.writer import upload_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.check.bench import Bench

_OUT_OF_RANGE: Final[Mapping[str, tuple[object, ...]]] = {
    "maxBytes": (0, -1, "1", 1.5, True, [1]),
    "waitMs": (-1, "1", True, {}),
    "tailBytes": (-1, "1", False),
}
_NO_TEXT: Final = "\ud800"
_HOSTILE: Final = (
    "A" * HOSTILE_CURSOR_CHARS,
    "9" * 5_000,
    "/" * 64,
    "_" * 38,
    _NO_TEXT,
    "%00../../etc/passwd",
    '{"epoch":1e308,"length":-1}',
    "=" * 64,
)


@each_binding("SR-12.2")
async def a_hostile_cursor_is_refused_and_costs_nothing(bench: Bench) -> None:
    history = await bench.history()
    for since in _HOSTILE:
        answer = await bench.answer(history.uri, since=since)
        told = short(since, 40)
        if "error" not in answer.message:
            reading = await bench.read(history.uri, since=since)
            demand(not reading.is_delta, f"a delta since {told}", exchange=answer.exchange)
            continue
        # Half a code point is no JSON to some parsers; anything else is a cursor that is none.
        codes = (-32602, -32700, -32600) if since == _NO_TEXT else (-32602,)
        demand(
            answer.error["code"] in codes and answer.status == 400,
            f"since {told}: HTTP status {answer.status}, {short(answer.error)}",
            exchange=answer.exchange,
        )
    await bench.read(history.uri, since=history.head.cursor)


@once("SR-12.3.a", "SR-12.3.b")
async def too_many_uris_of_one_subscription_are_refused_by_name(bench: Bench) -> None:
    uri = bench.stage.new_uri()
    streams: dict[str, Any] = {f"{uri}/{number}": {} for number in range(MANY_URIS)}
    params = place(bench.binding, {"notifications": {}}, {"resourceStreams": streams})
    async with bench.session.listen(params) as subscription:
        message = await subscription.next(bench.stage.waits.soon_s)
        # Half a megabyte that nobody reads.
        sent = f"resourceStreams of {MANY_URIS} URIs: {uri}/0, {uri}/1 and so on"
        subscription.exchange.sent = {**subscription.exchange.sent, "params": sent}
        if message is not None and "error" not in message:
            raise NotTested(f"a subscription to {MANY_URIS} URIs is taken; the limit is above it")
        error = {} if message is None else message["error"]
        data = error.get("data") or {}
        named = data.get("reason") == "limit" and isinstance(data.get("limit"), str)
        right = error.get("code") == -32602 and named and isinstance(data.get("value"), int)
        if not right:
            got = f"{MANY_URIS} URIs: HTTP status {subscription.exchange.status}, {short(error)}"
            raise Broken(got, clause="SR-12.3.b")


@each_binding("SR-13.1")
async def the_errors_have_the_code_data_and_status_of_the_table(bench: Bench) -> None:
    history = await bench.history()
    uri, cursor = history.uri, history.head.cursor
    nowhere = bench.stage.new_uri()
    rows: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
        ("a since that is no cursor", uri, {"since": "no"}, {"reason": "invalid_cursor", "uri": uri}),
        ("no such resource", nowhere, {"maxBytes": 1}, {"uri": nowhere}),
        ("since with tailBytes", uri, {"since": cursor, "tailBytes": 1}, {"reason": "invalid_params"}),
    ]
    rows += [
        (f"{name} {short(value)}", uri, {name: value}, {"reason": "invalid_params"})
        for name, values in _OUT_OF_RANGE.items()
        for value in values
    ]
    for what, of, members, expected in rows:
        answer = await bench.answer(of, **members)
        demand("error" in answer.message, f"{what} is taken", exchange=answer.exchange)
        given = {name: answer.data.get(name) for name in expected}
        right = answer.error["code"] == -32602 and given == expected and answer.status == 400
        got = f"{what}: HTTP status {answer.status}, {short(answer.error)}; the table has {short(expected)}"
        demand(right, got, exchange=answer.exchange)


@once("SR-13.1")
async def an_upload_without_a_uri_is_refused_as_the_table_says(bench: Bench) -> None:
    uploads = bench.stage.writer.uploads
    for uri in ("", "no uri", "a b"):
        exchange = await uploads.send(uri, bench.kind, b"x")
        given = upload_error(exchange)
        right = exchange.status == 400 and given == {"reason": "invalid_uri", "uri": uri}
        demand(right, f"an append to {uri!r}: HTTP status {exchange.status}, {short(given)}", exchange=exchange)


@clause("SR-13.1", bindings=("fields",), kinds=("json",))
async def an_upload_of_another_kind_is_refused_as_the_table_says(bench: Bench) -> None:
    history = await bench.fresh(1)
    for body in (b"no json", b'{"op":"add"}', b'[{"op":"remove","path":"/not there"}]'):
        exchange = await bench.stage.writer.uploads.send(history.uri, "json", body)
        given = upload_error(exchange)
        right = exchange.status == 400 and given.get("reason") == "invalid_content"
        got = f"an append of {body.decode()} to a json: HTTP status {exchange.status}, {short(given)}"
        demand(right, got, exchange=exchange)
