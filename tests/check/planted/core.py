"""What the core demands."""

from __future__ import annotations

from collections.abc import Callable

from check.tampering import Json

from .plant import (
    Memory,
    Planted,
    any_answer,
    frames,
)


def after_the_first_frame(fault: Memory, request: Json, frame: Json) -> list[Json]:
    """An update of something before the acknowledgement."""
    if frame.get("method", "").endswith("acknowledged"):
        meta = {"io.modelcontextprotocol/subscriptionId": request["id"]}
        params = {"_meta": meta, "uri": "check://other"}
        return [{"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}, frame]
    return [frame]


def without_subscription_id(fault: Memory, request: Json, frame: Json) -> list[Json]:
    if frame.get("method", "").endswith("updated"):
        del frame["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
    return [frame]


def from_result(name: str) -> Callable[[Json, Json], Json]:
    def change(request: Json, answer: Json) -> Json:
        answer.get("result", {}).pop(name, None)
        return answer

    return change


def other_id(request: Json, answer: Json) -> Json:
    return {**answer, "id": f"{answer['id']}"}


def no_result(fault: Memory, request: Json, frame: Json) -> list[Json]:
    return [] if "result" in frame else [frame]


FAULTS = [
    Planted("an update before the acknowledgement", frames(after_the_first_frame), "MCP-ack-first"),
    Planted("a result without ttlMs", any_answer(from_result("ttlMs")), "MCP-caching-hints"),
    Planted("a subscription that ends without a result", frames(no_result), "MCP-graceful-end", status="warn"),
    Planted("a response with an id of another type", any_answer(other_id), "MCP-response-id"),
    Planted("a result without resultType", any_answer(from_result("resultType")), "MCP-result-type"),
    Planted("a frame without the id of its subscription", frames(without_subscription_id), "MCP-subscription-id"),
]
