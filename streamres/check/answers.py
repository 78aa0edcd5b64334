"""What a read answer and a notification say, checked member by member before anything is built on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from streamres.check.binding import CLAUSE_OF, READ_MEMBERS, UPDATE_MEMBERS, members_of
from streamres.check.content import PAYLOAD, SNAPSHOT, decode, told
from streamres.check.exchange import short
from streamres.check.finding import Broken, demand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.check.binding import Binding
    from streamres.check.content import Content, Kind, Step
    from streamres.check.exchange import Answer, Exchange

STATES: Final = ("open", "complete", "aborted")
MIME_TYPE_OF_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A position that the server gave, with what it says of it."""

    exchange: Exchange
    cursor: str
    revision: int
    state: str
    digest: str | None
    start_of_delta: str | None = None
    """The `from` of the delta; None where there is none."""
    step: Step = None
    """What the delta adds."""

    @property
    def sealed(self) -> bool:
        """Whether it stands at the seal."""
        return self.state != "open"

    @property
    def is_delta(self) -> bool:
        """Whether it gives a delta."""
        return self.start_of_delta is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Standing):
    """A read answer: with a delta or, without one, with a snapshot."""

    content: Content = None
    """The snapshot; None beside a delta."""
    more: bool = False
    reset: str | None = None
    start: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(Standing):
    """A `notifications/resources/updated`."""

    uri: str


def reading_of(answer: Answer, binding: Binding, kind: Kind) -> Reading:
    """Gives what a read answer says.

    Raises:
        Broken: a member is missing or wrong, by the clause that demands it.
    """
    result, exchange = answer.result, answer.exchange
    caching_hints(result, exchange)
    members = members_of(result, READ_MEMBERS, binding, exchange)
    standing = _standing(members, exchange, "SR-5.1.b")
    contents: Any = result.get("contents")
    demand(isinstance(contents, list), "`contents` is no list", clause="SR-5.1.a", exchange=exchange)
    content = None
    delta = _delta(members, kind, exchange)
    if "delta" not in members:
        content = _snapshot(contents, kind, exchange)
        got = f"a snapshot of a json says kind {short(members.get('kind'))}"
        demand(kind != "json" or members.get("kind") == "json", got, clause="SR-5.1.c", exchange=exchange)
    else:
        demand(contents == [], f"`contents` is {short(contents)}", clause="SR-5.2.a", exchange=exchange)
        to = members["delta"].get("to")
        got = f"delta.to is {short(to)}, cursor {short(standing['cursor'])}"
        demand(to == standing["cursor"], got, clause="SR-5.2.a", exchange=exchange)
    ttl = result["ttlMs"]
    got = f"ttlMs is {ttl}"
    uncached = "delta" in members or standing["state"] == "open"
    demand(ttl == 0 or not uncached, got, clause="SR-5.9.a", exchange=exchange)
    more, start = members.get("more", False), members.get("start", 0)
    demand(isinstance(more, bool), f"`more` is {short(more)}", clause="SR-5.7.b", exchange=exchange)
    demand(_is_count(start), f"`start` is {short(start)}", clause="SR-5.8.b", exchange=exchange)
    reset = members.get("reset")
    known = reset in (None, "expired", "epoch", "ahead", "smaller")
    demand(known, f"`reset` is {short(reset)}", clause="SR-5.5.a", exchange=exchange)
    got = f"`reset` {short(reset)} beside a delta"
    demand(reset is None or "delta" not in members, got, clause="SR-5.5.a", exchange=exchange)
    return Reading(**standing, **delta, content=content, more=more, start=start, reset=reset)


def update_of(
    frame: Mapping[str, Any], binding: Binding, kind: Kind, exchange: Exchange, *, clause: str | None = None
) -> Update:
    """Gives what a notification says; `clause` demands its members, where it is not that of the binding.

    Raises:
        Broken: a member is missing or wrong.
    """
    params = frame["params"]
    members = members_of(params, UPDATE_MEMBERS, binding, exchange)
    standing = _standing(members, exchange, clause or CLAUSE_OF[binding])
    delta = _delta(members, kind, exchange)
    if "delta" in members:
        to = members["delta"].get("to")
        got = f"delta.to is {short(to)}, cursor {short(standing['cursor'])}"
        demand(to == standing["cursor"], got, clause="SR-6.3.a", exchange=exchange)
    return Update(**standing, **delta, uri=params["uri"])


def caching_hints(result: Mapping[str, Any], exchange: Exchange) -> None:
    """Demands the caching hints of the core.

    Raises:
        Broken: one is missing or wrong.
    """
    hints = {name: result.get(name) for name in ("ttlMs", "cacheScope")}
    holds = _is_count(hints["ttlMs"]) and hints["cacheScope"] in ("private", "public")
    demand(holds, short(hints), clause="MCP-caching-hints", exchange=exchange)


def _standing(members: Mapping[str, Any], exchange: Exchange, clause: str) -> dict[str, Any]:
    told = {name: members.get(name) for name in ("cursor", "revision", "state")}
    cursor, revision, state = told.values()
    holds = isinstance(cursor, str) and bool(cursor) and _is_count(revision) and state in STATES
    demand(holds, short(told), clause=clause, exchange=exchange)
    digest = members.get("digest")
    demand(isinstance(digest, str | None), f"`digest` is {short(digest)}", clause="SR-3.4.b", exchange=exchange)
    got = f"`digest` beside the state {state}"
    demand(digest is None or state != "open", got, clause="SR-5.11", exchange=exchange)
    return {**told, "digest": digest, "exchange": exchange}


def _delta(members: Mapping[str, Any], kind: Kind, exchange: Exchange) -> dict[str, Any]:
    if "delta" not in members:
        return {}
    delta = members["delta"]
    holds = isinstance(delta, dict) and isinstance(delta.get("from"), str)
    demand(holds, f"delta is {short(delta)}", clause="SR-5.2.a", exchange=exchange)
    demand(delta.get("kind") == kind, f"delta.kind is {short(delta.get('kind'))}", exchange=exchange)
    if kind == "json":
        patch = delta.get("patch")
        holds = isinstance(patch, list) and all(isinstance(step, dict) and "op" in step for step in patch)
        demand(holds, f"delta.patch is {short(patch)}", clause="SR-2.3.a", exchange=exchange)
        return {"start_of_delta": delta["from"], "step": patch}
    return {"start_of_delta": delta["from"], "step": decode(kind, delta, PAYLOAD[kind], exchange)}


def _snapshot(contents: list[Any], kind: Kind, exchange: Exchange) -> Content:
    holds = len(contents) == 1 and isinstance(contents[0], dict)
    demand(holds, f"no delta, and `contents` is {short(contents)}", clause="SR-5.1.a", exchange=exchange)
    return item_content(contents[0], kind, exchange)


def item_content(item: Mapping[str, Any], kind: Kind, exchange: Exchange) -> Content:
    """Gives the content of a contents item.

    Raises:
        Broken: it has none of that kind.
    """
    data = decode(kind, item, SNAPSHOT[kind], exchange)
    if kind != "json":
        return data
    mime_type = item.get("mimeType")
    demand(mime_type == MIME_TYPE_OF_JSON, f"mimeType is {short(mime_type)}", exchange=exchange)
    return parsed(data, exchange)


def parsed(data: bytes, exchange: Exchange, *, clause: str | None = None) -> Content:
    """Gives the value of JSON text.

    Raises:
        Broken: it is none.
    """
    try:
        return json.loads(data)
    except ValueError as exc:
        raise Broken(f"no JSON ({exc}): {told('blob', data)}", clause=clause, exchange=exchange) from exc


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
