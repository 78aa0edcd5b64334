"""Section 8: what a list says of a stream; and what the server declares (SR-10.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from streamres.check.answers import STATES
from streamres.check.binding import ENTRY_MEMBERS, EXTENSION, members_of
from streamres.check.content import KINDS
from streamres.check.exchange import short
from streamres.check.finding import NotOffered, NotTested, demand
from streamres.check.registry import each_binding, once

if TYPE_CHECKING:
    from streamres.check.bench import Bench
    from streamres.check.exchange import Exchange

_AUDIENCES: Final = ({"user"}, {"assistant"}, {"user", "assistant"})
_PAGES: Final = 100


@each_binding("SR-8.1.a")
async def a_list_entry_says_kind_state_and_revision(bench: Bench) -> None:
    history = await bench.history()
    entry, exchange = await _entry(bench, history.uri)
    stream: Any = members_of(entry, ENTRY_MEMBERS, bench.binding, exchange).get("stream")
    demand(isinstance(stream, dict), f"no `stream` in {short(entry)}", exchange=exchange)
    head = (await bench.snapshot(history.uri)).reading
    expected = {"kind": bench.kind, "state": head.state, "revision": head.revision}
    given = {name: stream.get(name) for name in expected}
    if not history.made:
        holds = given["kind"] == bench.kind and given["state"] in STATES and isinstance(given["revision"], int)
    else:
        holds = given == expected
    demand(holds, f"stream is {short(stream)}, it stands at {short(expected)}", exchange=exchange)


@once("SR-8.1.c")
async def an_entry_says_for_whom_it_is(bench: Bench) -> None:
    answer = await bench.session.ask("resources/list", declared=bench.declared)
    said = []
    for entry in answer.result["resources"]:
        audience = entry.get("annotations", {}).get("audience")
        if audience is not None:
            said.append(audience)
            demand(set(audience) in _AUDIENCES, f"audience is {short(audience)}", exchange=answer.exchange)
    if not said:
        raise NotOffered("no entry of the list has annotations.audience")


@once("SR-10.7")
async def the_server_declares_what_it_honours(bench: Bench) -> None:
    answer = await bench.session.ask("server/discover")
    extensions = answer.result["capabilities"].get("extensions", {})
    settings = extensions.get(EXTENSION)
    demand(isinstance(settings, dict), f"extensions is {short(extensions)}", exchange=answer.exchange)
    kinds = settings.get("kinds")
    known = isinstance(kinds, list) and bool(kinds) and set(kinds) <= set(KINDS)
    demand(known, f"kinds is {short(kinds)}", exchange=answer.exchange)
    for name in ("maxWaitMs", "maxBytes"):
        value = settings.get(name)
        count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        demand(count, f"{name} is {short(value)}", exchange=answer.exchange)


async def _entry(bench: Bench, uri: str) -> tuple[dict[str, Any], Exchange]:
    """The entry of the list for a resource, in the binding that is declared."""
    cursor: object = None
    for _ in range(_PAGES):
        params = {} if cursor is None else {"cursor": cursor}
        answer = await bench.session.ask("resources/list", params, declared=bench.declared)
        for entry in answer.result["resources"]:
            if entry.get("uri") == uri:
                return entry, answer.exchange
        cursor = answer.result.get("nextCursor")
        if cursor is None:
            break
    raise NotTested(f"{uri} is not in the list")
