"""Sections 8 and 10: what is listed and declared, and where the members stand."""

from __future__ import annotations

from check.tampering import STREAM, Fault, Json, members_of

from .plant import (
    EXTENSION,
    Planted,
    any_answer,
    asks,
    item_members,
    listed,
    reads,
    updates,
)


def leaked(request: Json, members: Json, result: Json) -> None:
    """In the place of the other binding too."""
    if result.get("_meta", {}).get(STREAM) is members:
        result["cursor"] = members["cursor"]
    else:
        result.setdefault("_meta", {})[STREAM] = {"cursor": members["cursor"]}


def added_to_plain(request: Json, members: Json, result: Json) -> None:
    if not members:
        result["cursor"] = "c"


def cursor_beside_a_plain_uri(request: Json, members: Json, frame: Json) -> None:
    if not members:
        frame["params"]["cursor"] = "c"


def without_revision(entry: Json) -> None:
    for stream in (entry.get("stream"), entry.get("_meta", {}).get(STREAM, {}).get("stream")):
        if stream:
            stream.pop("revision")


def plain_stream(entry: Json) -> None:
    entry["stream"] = {"kind": "text", "state": "open", "revision": 0}


def audience_of_nobody(entry: Json) -> None:
    entry["annotations"] = {"audience": ["machines"]}


def undeclared_bound(request: Json, answer: Json) -> Json:
    if request["method"] == "server/discover":
        extensions = answer["result"]["capabilities"]["extensions"]
        extensions[EXTENSION].pop("maxBytes")
    return answer


def meta_unless_told(request: Json) -> None:
    capabilities = request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    for settings in capabilities.get("extensions", {}).values():
        settings.setdefault("binding", "meta")


def declared_wins(request: Json, answer: Json) -> Json:
    """The binding that was declared, whatever was used."""
    capabilities = request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    settings = next(iter(capabilities.get("extensions", {}).values()), None)
    members = members_of(answer)
    if settings is not None and members is not None and "result" in answer:
        result = answer["result"]
        under = result.get("_meta", {}).get(STREAM) is members
        if settings.get("binding") == "fields" and under:
            result |= result["_meta"].pop(STREAM)
    return answer


def open_wins(request: Json) -> None:
    stream = request["params"]["_meta"].get(STREAM)
    if stream is not None and "since" in request["params"]:
        stream["since"] = request["params"]["since"]


def no_cursor_without_a_delta(members: Json, item: Json) -> None:
    if "delta" not in members:
        del members["cursor"]


def payload_twice(members: Json, item: Json) -> None:
    if "delta" in members:
        members["delta"]["text"] = item.get("text", "")


def whole_instead_of_delta(members: Json, item: Json) -> None:
    if "delta" in members and "text" in item:
        item["text"] = "everything\n" + item["text"]


def no_cursor_beside_a_delta(members: Json, item: Json) -> None:
    if "delta" in members:
        del members["cursor"]


def no_meta(request: Json, answer: Json) -> Json:
    answer.get("result", {}).get("_meta", {}).pop(STREAM, None)
    return answer


def other_templates(request: Json, answer: Json) -> Json:
    for template in answer.get("result", {}).get("resourceTemplates", []):
        template["uriTemplate"] = template["uriTemplate"].replace("{?", "{&")
    return answer


class NoUpdates(Fault):
    """Tells a client of an older version of the list alone."""

    def framed(self, request: Json, frame: Json) -> list[Json]:
        return [] if frame["method"].endswith("updated") else [frame]


class NoUpdatesTwice(Fault):
    """Tells it once, on whatever stream."""

    told = False

    def framed(self, request: Json, frame: Json) -> list[Json]:
        again, self.told = self.told, True
        return [] if again else [frame]


class NoSessions(Fault):
    """Answers it in any session, also in one that ended."""

    knows_sessions = False


def no_members(request: Json, members: Json, frame: Json) -> None:
    frame["params"].pop("_meta", None)


def no_subscribing(request: Json) -> None:
    if request["method"] == "resources/subscribe":
        request["method"] = "resources/none"


FAULTS = [
    Planted("a list entry without revision", listed(without_revision), "SR-8.1.a"),
    Planted("an audience of nobody", listed(audience_of_nobody), "SR-8.1.c", status="warn"),
    Planted("a plain read with a cursor", reads(added_to_plain, plain=True), "SR-10.1"),
    Planted("a plain list entry with a stream", listed(plain_stream), "SR-10.1"),
    Planted("a plain update with a cursor", updates(cursor_beside_a_plain_uri), "SR-10.1"),
    Planted("fields that stand in _meta too", reads(leaked), "SR-10.2.a"),
    Planted("meta by default", asks(meta_unless_told), "SR-10.2.b"),
    Planted("meta that leaks into the open", reads(leaked), "SR-10.3.a"),
    Planted("no binding meta", any_answer(no_meta), "SR-10.3.b", status="warn"),
    Planted("a template that does not fit its URI", any_answer(other_templates), "SR-10.4.a"),
    Planted("an expanded URI gives more than the delta", item_members(whole_instead_of_delta), "SR-10.4.b"),
    Planted("maxBytes alone gives no cursor", item_members(no_cursor_without_a_delta), "SR-10.4.c"),
    Planted("the next cursor of a URI is missing", item_members(no_cursor_beside_a_delta), "SR-10.4.d"),
    Planted("the payload of a URI stands in _meta too", item_members(payload_twice), "SR-10.4.d"),
    Planted("the declared binding wins", any_answer(declared_wins), "SR-10.5"),
    Planted("discovery without maxBytes", any_answer(undeclared_bound), "SR-10.7"),
    Planted("the members in the open win", asks(open_wins), "SR-10.8"),
    Planted("subscribe is offered and nothing pushed", NoUpdates, "SR-10.9.a"),
    Planted("subscribe is offered and not there", asks(no_subscribing), "SR-10.9.a"),
    Planted("an update of an older version without cursor", updates(no_members), "SR-10.9.b"),
    Planted("a new stream tells nothing", NoUpdatesTwice, "SR-10.9.c"),
    Planted("a session that ended is answered", NoSessions, "SR-10.9.d"),
]
