"""Where the members of the note stand in a request and in an answer (section 10), read from the note again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from streamres.check.exchange import short
from streamres.check.finding import Broken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.check.exchange import Exchange

Binding = Literal["fields", "meta"]
BINDINGS: Final[tuple[Binding, ...]] = get_args(Binding)

EXTENSION: Final = "dev.streamres/streamable-resources"
STREAM: Final = "dev.streamres/stream"

READ_MEMBERS: Final = frozenset(
    {"cursor", "revision", "state", "delta", "reset", "more", "start", "digest", "kind"}
)
UPDATE_MEMBERS: Final = frozenset({"cursor", "revision", "state", "delta", "digest"})
ENTRY_MEMBERS: Final = frozenset({"stream"})
FILTER_MEMBERS: Final = frozenset({"resourceStreams"})

CLAUSE_OF: Final[Mapping[Binding, str]] = {"fields": "SR-10.2.a", "meta": "SR-10.3.a"}


def place(binding: Binding, params: Mapping[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
    """Gives params with the members where the binding has them; those of a filter stand in the filter."""
    if binding == "meta":
        return {**params, "_meta": {**params.get("_meta", {}), STREAM: dict(members)}}
    if "notifications" in params:
        return {**params, "notifications": {**params["notifications"], **members}}
    return {**params, **members}


def in_open(holder: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Gives the members of the note that stand directly in an object."""
    return {name: holder[name] for name in sorted(names) if name in holder}


def in_meta(holder: Mapping[str, Any]) -> dict[str, Any] | None:
    """Gives the members under `_meta`, None where there are none."""
    meta = holder.get("_meta")
    stream = meta.get(STREAM) if isinstance(meta, dict) else None
    return stream if isinstance(stream, dict) else None


def members_of(
    holder: Mapping[str, Any],
    names: frozenset[str],
    binding: Binding,
    exchange: Exchange,
    *,
    inside: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Gives the members of the note in an object of an answer; `inside` is where they stand in the open.

    Raises:
        Broken: they stand in the place of the other binding, or in both.
    """
    opened, under = in_open(holder if inside is None else inside, names), in_meta(holder)
    wrong = opened if binding == "meta" else under
    if wrong:
        got = f"in the binding {binding} these stand in the place of the other: {short(wrong)}"
        raise Broken(got, clause=CLAUSE_OF[binding], exchange=exchange)
    return opened if binding == "fields" else under or {}


def added_members(holder: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Gives whatever of the note stands anywhere in an object, which is nothing in plain MCP."""
    under = in_meta(holder)
    return {**in_open(holder, names), **({} if under is None else {f"_meta[{STREAM}]": under})}
