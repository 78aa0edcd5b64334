"""A document as a resource, patches to it, and all that anyone can see of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from streamres.model import Position, ResourceLog, Snapshot
from streamres.model.json_content import JsonContent
from streamres.model.json_value import encode_json

from .histories import URI, shown

if TYPE_CHECKING:
    from streamres.limits import Limits

    from .json_oracle import Operation

Json = Any


def log_of(value: Json, *patches: list[Operation], limits: Limits | None = None) -> ResourceLog:
    log = ResourceLog(URI, epoch=1, kind="json", content=encode_json(value), limits=limits)
    for patch in patches:
        commit(log, *patch)
    return log


def op(name: str, path: str, **members: object) -> Operation:
    members = {"from" if member == "source" else member: value for member, value in members.items()}
    return {"op": name, "path": path, **members}


def commit(log: ResourceLog, *operations: Operation) -> None:
    log.commit(json.dumps(operations).encode())


def document_in(step: object) -> bytes:
    assert isinstance(step, Snapshot)
    return shown(step)


def text_of(log: ResourceLog) -> str:
    return document_in(log.read().step).decode()


def observed(log: ResourceLog) -> list[object]:
    """All that anyone can learn of a document, by the byte; and what the next patch would find."""
    assert isinstance(log.content, JsonContent)
    kept = encode_json(log.content.document.value)
    readings = [log.read(Position(1, 0, 0), append_op=append_op).step for append_op in (True, False)]
    steps = [shown(step) if isinstance(step, Snapshot) else step.operations for step in readings]  # type: ignore[union-attr]
    return [kept, text_of(log), steps, log.head, log.floor]


def depth_in(value: Json) -> int:
    match value:
        case dict():
            return 1 + max(map(depth_in, value.values()), default=0)
        case list():
            return 1 + max(map(depth_in, value), default=0)
        case _:
            return 0
