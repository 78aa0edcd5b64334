"""Sections 4 and 5: cursors and `resources/read`."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from check.tampering import Fault, Json, asked_members, members_of

from .plant import (
    Planted,
    any_answer,
    asks,
    delete,
    errors,
    put,
    reads,
    reset_as,
)


def delta_as_if_from_there(request: Json, members: Json, result: Json) -> None:
    """A reset that is not said: what is there now, as if it followed."""
    if members.pop("reset", None) is not None:
        (item,) = result["contents"]
        kind = "text" if "text" in item else "blob"
        since = asked_members(request)["since"]
        members["delta"] = {"from": since, "to": members["cursor"], "kind": kind, kind: item[kind]}
        result["contents"] = []


def expired_is_an_error(request: Json, answer: Json) -> Json:
    members = members_of(answer)
    if members is not None and "reset" in members:
        error = {"code": -32602, "message": "expired", "data": {"reason": "expired"}}
        return {"jsonrpc": "2.0", "id": answer["id"], "error": error}
    return answer


def contents_beside_a_delta(request: Json, members: Json, result: Json) -> None:
    if "delta" in members:
        result["contents"] = [{"uri": request["params"]["uri"], "text": members["delta"].get("text", "")}]


def delta_from_elsewhere(request: Json, members: Json, result: Json) -> None:
    if "delta" in members:
        members["delta"]["from"] = members["cursor"]


def snapshot_at_the_head(request: Json, members: Json, result: Json) -> None:
    delta = members.get("delta")
    if delta and delta["from"] == delta["to"]:
        members.pop("delta")
        kind = delta["kind"]
        result["contents"] = [{"uri": request["params"]["uri"], kind: "", "mimeType": "text/plain"}]


def no_contents_at_all(request: Json, answer: Json) -> Json:
    if answer.get("error", {}).get("data", {}).keys() == {"uri"}:
        result = {"resultType": "complete", "contents": [], "ttlMs": 0, "cacheScope": "private"}
        return {"jsonrpc": "2.0", "id": answer["id"], "result": result}
    return answer


def open_after_all(request: Json, members: Json, result: Json) -> None:
    members["state"] = "open"
    members.pop("digest", None)


def complete_before_the_seal(request: Json, members: Json, result: Json) -> None:
    if members.get("more"):
        members["state"] = "complete"


def cached(request: Json, members: Json, result: Json) -> None:
    result["ttlMs"] = 60_000


def cached_deltas(request: Json, members: Json, result: Json) -> None:
    if "delta" in members:
        result["ttlMs"] = 1


def without_since_if_malformed(seen: bool) -> Callable[[], Fault]:
    """A server that takes a cursor that it never gave, or one that it gave for another resource."""

    class Forgiving(Fault):
        def __init__(self) -> None:
            self.given: dict[str, str] = {}

        def answered(self, request: Json, answer: Json) -> Json:
            members = members_of(answer)
            if members and "cursor" in members and "uri" in request["params"]:
                self.given[members["cursor"]] = request["params"]["uri"]
            return answer

        async def asked(self, request: Json) -> Json:
            members = asked_members(request)
            since = members.get("since")
            if since is None or request["method"] != "resources/read":
                return request
            known = self.given.get(since) if isinstance(since, str) else None
            if (known is not None and known != request["params"]["uri"]) if seen else known is None:
                del members["since"]
                members["maxBytes"] = 1_000_000
            return request

    return Forgiving


def no_more_waiting(request: Json) -> None:
    asked_members(request).pop("waitMs", None)


async def waiting_the_whole_time(request: Json) -> None:
    await anyio.sleep(asked_members(request).pop("waitMs", 0) / 1000)


async def waiting_without_since(request: Json) -> None:
    members = asked_members(request)
    if "since" not in members:
        await waiting_the_whole_time(request)


def no_bound(request: Json) -> None:
    asked_members(request).pop("maxBytes", None)


def no_step(request: Json, members: Json, result: Json) -> None:
    """Nothing where one code point is more than was asked for."""
    delta = members.get("delta")
    if delta and members.get("more") and len(delta.get("text", "").encode()) > 1:
        delta["text"] = ""
        delta["to"] = members["cursor"] = delta["from"]


def start_off_by_one(request: Json, members: Json, result: Json) -> None:
    if "start" in members:
        members["start"] += 1


def no_tail_beside_since(request: Json) -> None:
    members = asked_members(request)
    if "since" in members:
        members.pop("tailBytes", None)


def garbage(request: Json, answer: Json) -> Json | bytes:
    return b"<html>502 Bad Gateway" if request["method"] == "resources/read" else answer


def nonsense_members(request: Json, members: Json, result: Json) -> None:
    for name in tuple(members):
        members[name] = [None]


def no_contents(request: Json, members: Json, result: Json) -> None:
    if "since" not in asked_members(request):
        result["contents"] = []


def plain_text_for_json(request: Json, members: Json, result: Json) -> None:
    for item in result["contents"]:
        item["mimeType"] = "text/plain"


def later_than_a_line(request: Json, members: Json, result: Json) -> None:
    for item in result["contents"]:
        if members.get("start") and len(item.get("text", "")) > 1:
            members["start"] += len(item["text"][0].encode())
            item["text"] = item["text"][1:]


def patch_that_is_cut(request: Json, members: Json, result: Json) -> None:
    if members.get("more") and "patch" in members.get("delta", {}):
        members["delta"]["patch"].pop()


def more_of_a_json(request: Json, members: Json, result: Json) -> None:
    if "maxBytes" in asked_members(request) and "delta" not in members:
        members["more"] = True


FAULTS = [
    Planted("a cursor of another resource is taken", without_since_if_malformed(seen=True), "SR-4.3"),
    Planted("a head whose cursor is compacted away", reads(snapshot_at_the_head), "SR-4.5"),
    Planted("no contents", reads(no_contents), "SR-5.1.a"),
    Planted("garbage for an answer", any_answer(garbage), "SR-5.1.a"),
    Planted("a json value as plain text", reads(plain_text_for_json), "SR-5.1.a", kind="json"),
    Planted("members of another type", reads(nonsense_members), "SR-5.1.b"),
    Planted("a snapshot without cursor", reads(delete("cursor")), "SR-5.1.b"),
    Planted("an answer without state", reads(delete("state")), "SR-5.1.b"),
    Planted("a json snapshot that does not say so", reads(delete("kind")), "SR-5.1.c", kind="json"),
    Planted("contents beside a delta", reads(contents_beside_a_delta), "SR-5.2.a"),
    Planted("delta.from is not since", reads(delta_from_elsewhere), "SR-5.2.a"),
    Planted("an unknown URI gives no contents", any_answer(no_contents_at_all), "SR-5.2.b"),
    Planted("a snapshot since the head", reads(snapshot_at_the_head), "SR-5.3.a"),
    Planted("waitMs is ignored", asks(no_more_waiting), "SR-5.4.a"),
    Planted("a commit does not end the wait", asks(waiting_the_whole_time), "SR-5.4.a"),
    Planted("waitMs delays a snapshot", asks(waiting_without_since), "SR-5.4.c"),
    Planted("a reset that is not said", reads(reset_as(None)), "SR-5.5.a"),
    Planted("a delta from the wrong base", reads(delta_as_if_from_there), "SR-5.5.b"),
    Planted("an expired cursor is an error", any_answer(expired_is_an_error), "SR-5.5.b"),
    Planted("another life that says ahead", reads(reset_as("ahead")), "SR-5.5.c"),
    Planted("a malformed cursor is taken", without_since_if_malformed(seen=False), "SR-5.6.a"),
    Planted("an unknown URI without data", errors(lambda _, answer: answer["error"].pop("data")), "SR-5.6.b"),
    Planted("maxBytes is ignored", asks(no_bound), "SR-5.7.a"),
    Planted("more is missing", reads(delete("more")), "SR-5.7.b"),
    Planted("more at the head", reads(put("more", True)), "SR-5.7.b"),
    Planted("a patch that is cut", reads(patch_that_is_cut), "SR-5.7.c", kind="json"),
    Planted("no step where one code point is too long", reads(no_step), "SR-5.7.d"),
    Planted("a json snapshot that is bounded", reads(more_of_a_json), "SR-5.7.e", kind="json"),
    Planted("a tail that begins within a line", reads(later_than_a_line), "SR-5.8.a", status="warn"),
    Planted("start is off by one", reads(start_off_by_one), "SR-5.8.b"),
    Planted("start is missing", reads(delete("start")), "SR-5.8.b"),
    Planted("tailBytes beside since is ignored", asks(no_tail_beside_since), "SR-5.8.c"),
    Planted("an open resource may be cached", reads(cached), "SR-5.9.a"),
    Planted("a delta may be cached", reads(cached_deltas), "SR-5.9.a"),
    Planted("a plain read of an open resource may be cached", reads(cached, plain=True), "SR-5.9.a"),
    Planted("a smaller snapshot that says expired", reads(reset_as("expired")), "SR-5.10", kind="json"),
    Planted("open at the seal", reads(open_after_all), "SR-5.11"),
    Planted("complete before the seal", reads(complete_before_the_seal), "SR-5.11"),
]
