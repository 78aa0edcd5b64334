"""Sections 6 and 7: notifications and subscriptions."""

from __future__ import annotations

import re
from copy import deepcopy

from check.tampering import Json, asked_members, members_of

from .plant import (
    Change,
    Memory,
    Planted,
    acknowledgement,
    asks,
    end_at,
    frames,
    other_content,
    reads,
    updates,
)


def twice(request: Json, members: Json, frame: Json) -> list[Json]:
    return [frame, deepcopy(frame)]


def back_again(fault: Memory, request: Json, frame: Json) -> list[Json]:
    """The first update once more, after the second."""
    if not frame.get("method", "").endswith("resources/updated"):
        return [frame]
    fault.kept.append(frame)
    return [frame, deepcopy(fault.kept[0])] if len(fault.kept) == 2 else [frame]


def not_the_seal(request: Json, members: Json, frame: Json) -> bool | None:
    return None if members.get("state") == "open" else False


def links_from_the_beginning(fault: Memory, request: Json, frame: Json) -> list[Json]:
    delta = (members_of(frame) or {}).get("delta")
    if delta:
        fault.first = fault.first or delta["from"]
        delta["from"] = fault.first
    return [frame]


def a_delta_for_everyone(request: Json) -> None:
    streams = asked_members(request) if request["method"] == "subscriptions/listen" else {}
    streams = streams.get("resourceStreams") or request["params"].get("notifications", {}).get(
        "resourceStreams", {}
    )
    for stream in streams.values():
        if isinstance(stream, dict):
            stream["deliver"] = "delta"


def a_delta_from_nowhere(request: Json, members: Json, frame: Json) -> None:
    if members and "delta" not in members:
        members["delta"] = {"from": "before", "to": members["cursor"], "kind": "text", "text": "more\n"}


def no_state(streams: Json, request: Json) -> None:
    for stream in streams.values():
        stream.pop("state", None)


def cursors_of_nothing(streams: Json, request: Json) -> None:
    for stream in streams.values():
        stream.setdefault("cursor", "none-yet")


def not_above(fault: Memory, request: Json, frame: Json) -> list[Json]:
    """A URI that ends in a slash covers itself alone."""
    asked = asked_members(request).get("resourceStreams") or request["params"]["notifications"]["resourceStreams"]
    uri = frame.get("params", {}).get("uri")
    return [] if uri is not None and uri not in asked else [frame]


def only_known_streams(request: Json) -> None:
    """A malformed stream is dropped, and the rest taken."""
    if request["method"] != "subscriptions/listen":
        return
    holder = asked_members(request)
    holder = holder if "resourceStreams" in holder else request["params"]["notifications"]
    asked = holder.get("resourceStreams", {})
    good = re.compile(r"[\w-]{14,20}")
    holder["resourceStreams"] = {
        uri: stream
        for uri, stream in (asked.items() if isinstance(asked, dict) else ())
        if isinstance(stream, dict)
        and stream.get("deliver") != "everything"
        and good.fullmatch(str(stream.get("since", "A" * 16)))
        and "/new" not in uri
    }


def plain_wins(request: Json) -> None:
    notifications = request["params"].get("notifications", {})
    if notifications.get("resourceSubscriptions"):
        asked_members(request).pop("resourceStreams", None)
        notifications.pop("resourceStreams", None)


def put_cursor(cursor: str) -> Change:
    def change(request: Json, members: Json, frame: Json) -> None:
        if members:
            members["cursor"] = cursor

    return change


def no_digest(request: Json, members: Json, frame: Json) -> None:
    members.pop("digest", None)


def links_that_lose_a_character(request: Json, members: Json, frame: Json) -> None:
    delta = members.get("delta", {})
    if "text" in delta:
        delta["text"] = delta["text"][:-1]


def the_seal_twice(request: Json, members: Json, frame: Json) -> list[Json] | None:
    return None if members.get("state") == "open" else [frame, deepcopy(frame)]


FAULTS = [
    Planted("a cursor that is not there", updates(put_cursor("AAAAAAABAhKNdOpI")), "SR-6.1.a"),
    Planted("a delta that misses something", reads(other_content), "SR-6.1.b"),
    Planted("a cursor that goes back", frames(back_again), "SR-6.2.a"),
    Planted("the seal is not told", updates(not_the_seal), "SR-6.2.b"),
    Planted("each link from the beginning", frames(links_from_the_beginning), "SR-6.3.a"),
    Planted("a delta for who did not ask", asks(a_delta_for_everyone), "SR-6.3.a"),
    Planted("links that lose a character", updates(links_that_lose_a_character), "SR-6.3.b"),
    Planted("a delta across a replacement", updates(a_delta_from_nowhere), "SR-6.3.c"),
    Planted("the seal is told without digest", updates(no_digest), "SR-6.5"),
    Planted("nothing follows since an old cursor", updates(lambda *_: False), "SR-7.1.a"),
    Planted("each delta twice", updates(twice), "SR-7.1.b"),
    Planted("a prefix covers nothing", frames(not_above), "SR-7.2.a"),
    Planted("the first below a prefix is a delta", updates(a_delta_from_nowhere), "SR-7.2.b"),
    Planted("the widest of the watched URIs decides", asks(a_delta_for_everyone), "SR-7.2.c"),
    Planted("a prefix that ends", end_at("acknowledged"), "SR-7.2.d"),
    Planted("the seal is told twice", updates(the_seal_twice), "SR-7.3.a"),
    Planted("a plain subscription that ends", end_at("updated"), "SR-7.3.b"),
    Planted("a cursor of what is not there", acknowledgement(cursors_of_nothing), "SR-7.4.a"),
    Planted("what came is not told", updates(lambda *_: False), "SR-7.4.b"),
    Planted("an acknowledgement without state", acknowledgement(no_state), "SR-7.5.a"),
    Planted("a stream that is not acknowledged", acknowledgement(lambda streams, _: streams.clear()), "SR-7.5.a"),
    Planted("a malformed stream is dropped", asks(only_known_streams), "SR-7.6"),
    Planted("the plain filter wins", asks(plain_wins), "SR-7.7"),
]
