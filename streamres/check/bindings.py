"""Section 10: plain MCP for whoever asks for nothing else, and the three places of the members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from streamres.check.answers import item_content, parsed
from streamres.check.bench import demand_equal
from streamres.check.binding import (
    ENTRY_MEMBERS,
    FILTER_MEMBERS,
    READ_MEMBERS,
    STREAM,
    UPDATE_MEMBERS,
    added_members,
    in_meta,
    in_open,
    place,
)
from streamres.check.content import decode, fold
from streamres.check.exchange import short
from streamres.check.finding import NotOffered, NotTested, demand
from streamres.check.registry import clause, each_binding, once

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.check.bench import Bench, History
    from streamres.check.content import Content
    from streamres.check.exchange import Answer, Exchange

_PAGES = 100


@clause("SR-10.1", bindings=("fields",))
async def a_client_that_asks_for_nothing_gets_plain_mcp(bench: Bench) -> None:
    history = await bench.history()
    read = await bench.session.ask("resources/read", {"uri": history.uri})
    added = added_members(read.result, READ_MEMBERS)
    demand(not added, f"added to a read: {short(added)}", exchange=read.exchange)
    contents = read.result["contents"]
    added = {} if not contents else added_members(contents[0], READ_MEMBERS)
    demand(not added, f"added to the contents: {short(added)}", exchange=read.exchange)
    content = item_content(contents[0], bench.kind, read.exchange)
    whole = await bench.snapshot(history.uri)
    if history.made:
        demand_equal(bench, content, whole.content, "a full read")
    listed = await bench.session.ask("resources/list")
    for entry in listed.result["resources"]:
        added = added_members(entry, ENTRY_MEMBERS)
        demand(not added, f"added to a list entry: {short(added)}", exchange=listed.exchange)


@clause("SR-10.1", bindings=("fields",))
async def a_plain_subscription_gets_uris_alone(bench: Bench) -> None:
    history = await bench.fresh(1)
    filters = {"notifications": {"resourceSubscriptions": [history.uri]}}
    async with bench.session.listen(filters) as subscription:
        params = await subscription.acknowledged()
        added = added_members(params, FILTER_MEMBERS) or in_open(params["notifications"], FILTER_MEMBERS)
        demand(not added, f"added to the acknowledgement: {short(added)}", exchange=subscription.exchange)
        await bench.write(history)
        params = await subscription.plain_update()
        added = added_members(params, UPDATE_MEMBERS)
        demand(not added, f"added to an update: {short(added)}", exchange=subscription.exchange)


@clause("SR-10.2.a", bindings=("fields",))
async def in_fields_the_members_stand_in_the_open(bench: Bench) -> None:
    await _everywhere(bench)


@clause("SR-10.3.a", bindings=("meta",))
async def in_meta_the_members_stand_under_meta_alone(bench: Bench) -> None:
    await _everywhere(bench)


@once("SR-10.2.b")
async def fields_is_the_binding_of_a_client_that_names_none(bench: Bench) -> None:
    history = await bench.history()
    every: tuple[dict[str, Any], ...] = ({}, {"patchOps": []})
    for settings in every:
        answer = await bench.session.ask("resources/read", {"uri": history.uri}, declared=settings)
        opened, under = in_open(answer.result, READ_MEMBERS), in_meta(answer.result)
        got = f"declared with {short(settings)}: in the open {short(opened)}, under _meta {short(under)}"
        demand("cursor" in opened and under is None, got, exchange=answer.exchange)


@once("SR-10.3.b")
async def the_binding_meta_is_offered(bench: Bench) -> None:
    history = await bench.history()
    params = place("meta", {"uri": history.uri}, {"since": history.head.cursor})
    answer = await bench.session.ask("resources/read", params)
    demand(in_meta(answer.result) is not None, "no members under _meta in the answer")


@each_binding("SR-10.5")
async def a_request_with_members_is_answered_in_their_place(bench: Bench) -> None:
    history = await bench.history()
    params = place(bench.binding, {"uri": history.uri}, {"since": history.points[0].cursor})
    other = "fields" if bench.binding == "meta" else "meta"
    for declared in (None, {"binding": other}, {"binding": bench.binding}):
        answer = await bench.session.ask("resources/read", params, declared=declared)
        opened, under = in_open(answer.result, READ_MEMBERS), in_meta(answer.result)
        right = (
            "cursor" in (under or {}) and not opened
            if bench.binding == "meta"
            else "cursor" in opened and not under
        )
        got = f"members in {bench.binding}, declared {short(declared)}: open {short(opened)}, _meta {short(under)}"
        demand(right, got, exchange=answer.exchange)


@clause("SR-10.8", bindings=("meta",), every_kind=False)
async def where_a_request_carries_both_meta_wins(bench: Bench) -> None:
    history = await bench.history()
    head, first = history.head.cursor, history.points[0].cursor
    if head == first:
        raise NotTested("needs two cursors")
    for opened, under in ((first, head), (head, first), ("not a cursor", head)):
        params = place("meta", {"uri": history.uri, "since": opened}, {"since": under})
        answer = await bench.session.ask("resources/read", params)
        got = f"since {opened} in the open beside {under} under _meta: {short(answer.message)}"
        demand("result" in answer.message, got, exchange=answer.exchange)
        stream = in_meta(answer.result) or {}
        delta = stream.get("delta")
        given = delta.get("from") if isinstance(delta, dict) else None
        demand(given == under, got, exchange=answer.exchange)


@clause("SR-10.4.a", bindings=("fields",), every_kind=False)
async def each_resource_is_also_listed_as_a_template(bench: Bench) -> None:
    history = await bench.history()
    await _template(bench, history)


@clause("SR-10.4.b", "SR-10.4.c", "SR-10.4.d", bindings=("fields",))
async def an_expanded_uri_gives_the_delta_as_contents(bench: Bench) -> None:
    history = await bench.history()
    join = await _template(bench, history)
    first = history.points[0]
    members, content, answer = await _read_expanded(bench, history, f"{join}maxBytes=1000000", "SR-10.4.c")
    got = f"with maxBytes alone: {short(members)}"
    first_cursor = isinstance(members.get("cursor"), str) and "delta" not in members
    demand(first_cursor, got, clause="SR-10.4.c", exchange=answer.exchange)
    _demand_standing(members, answer.exchange)
    whole = await bench.snapshot(history.uri)
    if history.made:
        expected = whole.content
        demand_equal(bench, content, expected, "the snapshot with maxBytes alone", clause="SR-10.4.c")
    since = f"{join}since={quote(first.cursor, safe='')}"
    members, step, answer = await _read_expanded(bench, history, since, "SR-10.4.d", delta=True)
    _demand_standing(members, answer.exchange)
    delta = members.get("delta")
    if not isinstance(delta, dict):
        got = f"neither delta nor reset: {short(members)}"
        demand("reset" in members, got, clause="SR-10.4.d", exchange=answer.exchange)
        return
    right = delta.get("from") == first.cursor and delta.get("to") == members["cursor"]
    demand(right, f"delta is {short(delta)}", clause="SR-10.4.d", exchange=answer.exchange)
    payload = delta.keys() & {"text", "blob", "patch"}
    got = f"the payload stands in _meta too: {short(delta)}"
    demand(not payload, got, clause="SR-10.4.d", exchange=answer.exchange)
    folded = fold(bench.kind, first.content, step, answer.exchange)
    if history.made:
        demand_equal(bench, folded, whole.content, "the delta as contents", clause="SR-10.4.b")


async def _everywhere(bench: Bench) -> None:
    """One of each message; that the members stand in the right place alone is demanded of all that is read."""
    history = await bench.history()
    await bench.read(history.uri)
    await bench.read(history.uri, since=history.points[0].cursor)
    await bench.read(history.uri, since=history.head.cursor)
    for deliver in ("cursor", "delta"):
        streams = {history.uri: {"since": history.points[0].cursor, "deliver": deliver}}
        async with bench.listen(streams) as subscription:
            await subscription.streams(bench.binding)
            if history.points[0].cursor != history.head.cursor:
                await subscription.update(bench.binding, bench.kind)
    listed = await bench.session.ask("resources/list", declared=bench.declared)
    for entry in listed.result["resources"]:
        opened, under = in_open(entry, ENTRY_MEMBERS), in_meta(entry)
        wrong = opened if bench.binding == "meta" else under
        demand(not wrong, f"a list entry has {short(wrong)}", exchange=listed.exchange)


async def _template(bench: Bench, history: History) -> str:
    """Finds the resource's template, and gives what joins its expansion: `?` or `&`."""
    cursor: object = None
    wanted = {f"{history.uri}{{{mark}since,maxBytes}}": mark for mark in "?&"}
    found: list[str] = []
    for _ in range(_PAGES):
        params = {} if cursor is None else {"cursor": cursor}
        answer = await bench.session.ask("resources/templates/list", params)
        if "error" in answer.message:
            raise NotOffered("the server has no resource templates")
        found += [str(template.get("uriTemplate")) for template in answer.result["resourceTemplates"]]
        cursor = answer.result.get("nextCursor")
        if cursor is None:
            break
    marks = [mark for template, mark in wanted.items() if template in found]
    if not marks:
        raise NotOffered(f"no template {next(iter(wanted))} is listed")
    right = "&" if "?" in history.uri else "?"
    demand(marks == [right], f"the template of {history.uri} goes on with {marks[0]}")
    return right


async def _read_expanded(
    bench: Bench, history: History, query: str, clause_of_meta: str, *, delta: bool = False
) -> tuple[Mapping[str, Any], Content, Answer]:
    uri = f"{history.uri}{query}"
    answer = await bench.session.ask("resources/read", {"uri": uri})
    contents: Any = answer.result.get("contents")
    one = isinstance(contents, list) and len(contents) == 1 and isinstance(contents[0], dict)
    demand(one, f"contents is {short(contents)}", clause="SR-10.4.b", exchange=answer.exchange)
    item = contents[0]
    members = in_meta(item)
    got = f"the contents item has no _meta[{STREAM!r}]"
    demand(members is not None, got, clause=clause_of_meta, exchange=answer.exchange)
    patch = delta and bench.kind == "json" and "delta" in (members or {})
    if not patch:
        return members or {}, item_content(item, bench.kind, answer.exchange), answer
    mime_type = item.get("mimeType")
    got = f"a patch as {short(mime_type)}"
    demand(mime_type == "application/json-patch+json", got, clause="SR-10.4.b", exchange=answer.exchange)
    step = parsed(decode("json", item, "text", answer.exchange), answer.exchange, clause="SR-10.4.b")
    return members or {}, step, answer


def _demand_standing(members: Mapping[str, Any], exchange: Exchange) -> None:
    given = {name: members.get(name) for name in ("cursor", "revision", "state")}
    holds = isinstance(given["cursor"], str) and isinstance(given["revision"], int) and bool(given["state"])
    demand(holds, f"_meta has {short(members)}", clause="SR-10.4.d", exchange=exchange)
