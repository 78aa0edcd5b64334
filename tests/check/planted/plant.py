"""How a fault is planted, and the faults that break more than one section."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from check.tampering import STREAM, Fault, Json, asked_members, members_of
from streamres.check.content import Kind
from streamres.check.finding import Status

Change = Callable[[Json, Json, Json], None]
"""Alters in place: what was asked, the members of the note, and the whole result or params they stand in."""

EXTENSION = "dev.streamres/streamable-resources"
NO_DIGEST = f"sha-256=:{'A' * 43}=:"


@dataclass(frozen=True, slots=True)
class Planted:
    """A server that is wrong in one thing, and the clause that it breaks."""

    name: str
    plant: Callable[[], Fault]
    clause: str
    kind: Kind = "text"
    status: Status = "fail"


class Memory(Fault):
    """One that remembers between frames."""

    def __init__(self) -> None:
        self.kept: list[Json] = []
        self.first: str | None = None


def reads(change: Change, *, plain: bool = False) -> Callable[[], Fault]:
    """Alters every answer to a read; in plain MCP too, where there are no members."""

    class Reads(Fault):
        def answered(self, request: Json, answer: Json) -> Json:
            if request["method"] == "resources/read" and "result" in answer:
                members = members_of(answer)
                if members is not None or plain:
                    change(request, members or {}, answer["result"])
            return answer

    return Reads


def errors(change: Callable[[Json, Json], None], method: str = "resources/read") -> Callable[[], Fault]:
    """Alters every refusal."""

    class Errors(Fault):
        def answered(self, request: Json, answer: Json) -> Json:
            if request["method"] == method and "error" in answer:
                change(request, answer)
            return answer

    return Errors


def updates(change: Callable[[Json, Json, Json], list[Json] | bool | None]) -> Callable[[], Fault]:
    """Alters every update; False drops it, a list takes its place."""

    class Updates(Fault):
        def framed(self, request: Json, frame: Json) -> list[Json]:
            if not frame.get("method", "").endswith("resources/updated"):
                return [frame]
            members = members_of(frame)
            made = change(request, members if members is not None else {}, frame)
            return [frame] if made is None else [] if made is False else made

    return Updates


def frames(change: Callable[[Memory, Json, Json], list[Json]]) -> Callable[[], Fault]:
    """Alters any frame of a subscription."""

    class Frames(Memory):
        def framed(self, request: Json, frame: Json) -> list[Json]:
            return change(self, request, frame)

    return Frames


def asks(change: Callable[[Json], Awaitable[None] | None]) -> Callable[[], Fault]:
    """Alters what the server is asked."""

    class Asks(Fault):
        async def asked(self, request: Json) -> Json:
            waiting = change(request)
            if waiting is not None:
                await waiting
            return request

    return Asks


def any_answer(change: Callable[[Json, Json], Json | bytes]) -> Callable[[], Fault]:
    class Answers(Fault):
        def answered(self, request: Json, answer: Json) -> Json | bytes:
            return change(request, answer)

    return Answers


def uploads(
    change: Callable[[dict[str, str], bytes], tuple[dict[str, str], bytes]],
) -> Callable[[], Fault]:
    class Uploads(Fault):
        def uploaded(self, query: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
            return change(query, body)

    return Uploads


def takes(reason: str) -> Callable[[], Fault]:
    """Acknowledges uploads that the server has refused."""

    class Takes(Fault):
        def taken(self, query: dict[str, str], status: int, answer: Json) -> tuple[int, Json]:
            if answer.get("error", {}).get("data", {}).get("reason") != reason:
                return status, answer
            return 200, {"cursor": "made-up", "revision": 1, "state": "open"}

    return Takes


def delete(name: str) -> Change:
    def change(request: Json, members: Json, result: Json) -> None:
        members.pop(name, None)

    return change


def put(name: str, value: object) -> Change:
    def change(request: Json, members: Json, result: Json) -> None:
        members[name] = value

    return change


def other_content(request: Json, members: Json, result: Json) -> None:
    if "delta" in members and members["delta"].get("text"):
        members["delta"]["text"] = members["delta"]["text"].upper()


def reset_as(reset: str | None) -> Change:
    def change(request: Json, members: Json, result: Json) -> None:
        if members.pop("reset", None) is not None and reset is not None:
            members["reset"] = reset

    return change


def acknowledgement(change: Callable[[Json, Json], None]) -> Callable[[], Fault]:
    """Alters what is acknowledged of `resourceStreams`; it also gets the request."""

    class Acknowledgement(Fault):
        def framed(self, request: Json, frame: Json) -> list[Json]:
            if frame.get("method", "").endswith("acknowledged"):
                members = members_of(frame)
                if members is not None:
                    change(members["resourceStreams"], request)
            return [frame]

    return Acknowledgement


def end_at(method: str) -> Callable[[], Fault]:
    """Ends every subscription after the first update."""

    def change(fault: Memory, request: Json, frame: Json) -> list[Json]:
        if not frame.get("method", "").endswith(method):
            return [frame]
        meta = {"io.modelcontextprotocol/subscriptionId": request["id"]}
        result = {"resultType": "complete", "_meta": meta}
        return [frame, {"jsonrpc": "2.0", "id": request["id"], "result": result}]

    return frames(change)


def listed(change: Callable[[Json], None]) -> Callable[[], Fault]:
    """Alters every entry of the list."""

    class Listed(Fault):
        def answered(self, request: Json, answer: Json) -> Json:
            if request["method"] == "resources/list":
                for entry in answer["result"]["resources"]:
                    change(entry)
            return answer

    return Listed


def item_members(change: Callable[[Json, Json], None]) -> Callable[[], Fault]:
    """Alters the members of a contents item: the binding `uri`."""

    def in_item(request: Json, members: Json, result: Json) -> None:
        for item in result["contents"]:
            if item.get("_meta", {}).get(STREAM) is not None:
                change(item["_meta"][STREAM], item)

    return reads(in_item)


def forbidding(uri: str, *, acknowledge: bool = False, bounded: bool = True) -> Fault:
    """Refuses one resource to everyone; a subscriber is told nothing of it, and a bounded read is refused too."""

    class Forbidding(Fault):
        def answered(self, request: Json, answer: Json) -> Json:
            refused = bounded or "maxBytes" not in asked_members(request)
            if refused and request["method"] == "resources/read" and request["params"]["uri"] == uri:
                error = {"code": -32602, "message": "not yours", "data": {"uri": uri}}
                return {"jsonrpc": "2.0", "id": request["id"], "error": error}
            return answer

        def framed(self, request: Json, frame: Json) -> list[Json]:
            members = members_of(frame)
            if not acknowledge and members and "resourceStreams" in members:
                members["resourceStreams"].pop(uri, None)
            return [] if frame.get("params", {}).get("uri") == uri else [frame]

    return Forbidding()
