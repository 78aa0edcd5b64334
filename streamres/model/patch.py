"""RFC 6902 patches as values, with the operation `append` beside them (SR-2.3, SR-2.5).

What a patch does is the business of `jsonpatch`; here is what can be told from the operations alone.
"""

from __future__ import annotations

from reprlib import repr as short
from typing import TYPE_CHECKING, Any, Final

from jsonpointer import JsonPointer, JsonPointerException

from streamres.errors import DeltaError, LimitExceeded
from streamres.model.json_value import encode_json, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamres.limits import Limits

Operation = dict[str, Any]
"""One operation with the members of RFC 6902 and no others."""

_MEMBERS: Final[dict[object, tuple[str, ...]]] = {
    "add": ("op", "path", "value"),
    "remove": ("op", "path"),
    "replace": ("op", "path", "value"),
    "move": ("op", "from", "path"),
    "copy": ("op", "from", "path"),
    "test": ("op", "path", "value"),
    "append": ("op", "path", "value"),
}


def parse_patch(data: bytes, limits: Limits) -> list[Operation]:
    """Gives the operations of a patch in JSON; members that RFC 6902 does not name are left away.

    Raises:
        DeltaError: it is no patch, or JSON that would not be kept exactly.
        LimitExceeded: `json_depth`, `patch_ops`.
    """
    # The two levels that a patch has around its values are not the document's.
    return operations_of(parse_json(data, max_depth=limits.json_depth, around=2), limits)


def operations_of(patch: object, limits: Limits) -> list[Operation]:
    """Gives the operations of a patch that was parsed; raises as `parse_patch`."""
    if not isinstance(patch, list):
        raise DeltaError("a patch is an array of operations (RFC 6902)")
    if len(patch) > limits.patch_ops:
        raise LimitExceeded("patch_ops", limits.patch_ops, "make several patches of it")
    return [_operation(operation, limits) for operation in patch]


def _operation(given: object, limits: Limits) -> Operation:
    if not isinstance(given, dict):
        raise DeltaError("an operation of a patch is an object (RFC 6902)")
    op = given.get("op")
    names = _MEMBERS.get(op) if isinstance(op, str) else None
    if names is None:
        raise DeltaError(f"op is one of {', '.join(map(str, _MEMBERS))}, not {short(op)}")
    for name in names:
        if name not in given:
            raise DeltaError(f"the operation {op} needs {name!r}")
    for name in ("path", "from"):
        if name in names:
            _check_pointer(given[name], limits)
    if op == "append" and not isinstance(given["value"], str):
        raise DeltaError("the operation append adds a string")
    if op == "append" and given["path"] == "":
        raise DeltaError("the operation append is for a string in an object or array; replace the whole document")
    return {name: given[name] for name in names}


def _check_pointer(pointer: object, limits: Limits) -> None:
    if isinstance(pointer, str) and pointer.count("/") > limits.json_depth:
        # Looked at before it is taken apart: no document is so deep.
        raise LimitExceeded("json_depth", limits.json_depth, "a path leads no deeper than a document can be")
    tokens(pointer)


def encode_patch(operations: Iterable[Operation]) -> bytes:
    """Gives the patch in JSON."""
    return b"[" + b",".join(map(encode_json, operations)) + b"]"


def tokens(pointer: object) -> list[str]:
    """Gives the reference tokens of a JSON Pointer (RFC 6901).

    Raises:
        DeltaError: it is none.
    """
    try:
        if isinstance(pointer, str):
            return list(JsonPointer(pointer).parts)
    except JsonPointerException as exc:
        raise DeltaError(f"{short(pointer)} is no JSON Pointer: {exc}") from exc
    raise DeltaError(f"{short(pointer)} is no JSON Pointer: it is a string")


def merged(operations: Iterable[Operation]) -> list[Operation]:
    """Gives fewer operations that do the same: neighbours that append to, or replace, the same place (SR-3.3)."""
    result: list[Operation] = []
    texts: list[str] = []  # of a run of appends, joined once at its end

    def close() -> None:
        if len(texts) > 1:
            result[-1] = {**result[-1], "value": "".join(texts)}
        texts.clear()

    for operation in operations:
        last = result[-1] if result else None
        same = last is not None and last["op"] == operation["op"] and last["path"] == operation["path"]
        if same and operation["op"] == "append":
            texts.append(operation["value"])
            continue
        close()
        if same and operation["op"] == "replace":
            result[-1] = operation
        else:
            result.append(operation)
        if operation["op"] == "append":
            texts.append(operation["value"])
    close()
    return result
