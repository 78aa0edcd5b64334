"""A JSON document that patches change, each whole or not at all (SR-2.3).

Sizes and depths are kept as upper bounds, so that a small patch to a large document costs what the patch costs.
They are measured where a bound would pass a limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsonpatch import JsonPatchException, JsonPatchWithAppend
from jsonpointer import JsonPointer, JsonPointerException

from streamres.errors import DeltaError, LimitExceeded
from streamres.model.json_value import depth_of, encode_json, json_digest, parse_json
from streamres.model.lowering import lowered_from
from streamres.model.patch import Operation, tokens

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.model.json_value import JsonValue

_MAX_WHY: Final = 200


class Document:
    """One JSON value: `null` until something else is put in place.

    Raises:
        LimitExceeded: `json_bytes`.
    """

    def __init__(self, limits: Limits, value: JsonValue = None) -> None:
        self._limits = limits
        self._value = value
        self._encoded: bytes | None = None
        self._measured = 0
        self._size = self._depth = 0
        self._measure()

    @property
    def value(self) -> JsonValue:
        """The value as it stands; whoever changes it breaks the history."""
        return self._value

    @property
    def measured(self) -> int:
        """Bytes of JSON when it was encoded last: what its size is about."""
        return self._measured

    def encoded(self) -> bytes:
        """Gives the JSON of the value; the same object until the value changes."""
        if self._encoded is None:
            self._encoded = encode_json(self._value)
            self._measured = self._size = len(self._encoded)
        return self._encoded

    def digest(self) -> str | None:
        """Gives the digest of the value; None outside I-JSON (SR-3.4)."""
        return json_digest(self._value)

    def apply(self, operations: list[Operation], encoded: bytes) -> None:
        """Makes all of the patch, whose JSON is `encoded`.

        Raises:
            DeltaError: it cannot be applied; nothing has changed.
            LimitExceeded: `json_bytes`, `json_depth`; nothing has changed.
        """
        bounds = self._bounds(operations, encoded)
        if self._exceeds(*bounds):
            self._measure()
            bounds = self._bounds(operations, encoded)
        if self._exceeds(*bounds):
            self._apply_measuring(operations)
            return
        self._value = self._applied(operations)
        self._encoded = None
        self._size, self._depth = bounds

    def _applied(self, operations: list[Operation]) -> JsonValue:
        # The library undoes the operations of RFC 6902 step by step, but copies all to be able to undo `append`.
        if any(operation["op"] == "append" for operation in operations):
            if len(operations) == 1:
                return _applied(operations, self._value, atomic=False)  # it changes all or nothing by itself
            operations = lowered_from(self._value, operations) or operations
        return _applied(operations, self._value, atomic=True)

    def _bounds(self, operations: list[Operation], encoded: bytes) -> tuple[int, int]:
        """Size and depth that the document has at most once the patch is made."""
        size, depth = self._size + len(encoded), self._depth
        for operation in operations:
            match operation["op"]:
                case "add" | "replace":
                    depth = max(depth, len(tokens(operation["path"])) + depth_of(operation["value"]))
                case "move":
                    depth += len(tokens(operation["path"]))
                case "copy":
                    depth += len(tokens(operation["path"]))
                    size *= 2
        return size, depth

    def _exceeds(self, size: int, depth: int) -> bool:
        return size > self._limits.json_bytes or depth > self._limits.json_depth

    def _apply_measuring(self, operations: list[Operation]) -> None:
        """Makes the patch on a copy, and looks at what each operation adds before it does."""
        limits = self._limits
        value = parse_json(self.encoded(), max_depth=limits.json_depth)
        written = 0
        for operation in operations:
            if operation["op"] in ("move", "copy"):
                inner = _resolved(operation["from"], value)
                if len(tokens(operation["path"])) + depth_of(inner) > limits.json_depth:
                    raise _too_deep(limits)
                written += len(encode_json(inner)) if operation["op"] == "copy" else 0
            else:
                inner = operation.get("value")
                if len(tokens(operation["path"])) + depth_of(inner) > limits.json_depth:
                    raise _too_deep(limits)
                written += len(encode_json(inner))
            if written > limits.json_bytes:
                raise _too_large(limits)
            value = _applied([operation], value, atomic=False)
        changed = Document(limits, value)
        self._value, self._encoded = changed._value, changed._encoded
        self._measured, self._size, self._depth = changed._measured, changed._size, changed._depth

    def _measure(self) -> None:
        if len(self.encoded()) > self._limits.json_bytes:
            raise _too_large(self._limits)
        self._depth = depth_of(self._value)


def _applied(operations: list[Operation], value: JsonValue, *, atomic: bool) -> JsonValue:
    try:
        return JsonPatchWithAppend(operations).apply(value, in_place=True, atomic=atomic)
    except (JsonPatchException, JsonPointerException) as exc:
        raise _refused(str(exc)) from exc
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as exc:
        raise _refused(f"{type(exc).__name__}: {exc}") from exc


def _refused(why: str) -> DeltaError:
    # The library's words for a failed test hold both values, which may be the whole document.
    return DeltaError(f"the patch cannot be applied: {why if len(why) <= _MAX_WHY else why[:_MAX_WHY] + '…'}")


def _resolved(pointer: str, value: JsonValue) -> JsonValue:
    try:
        return JsonPointer(pointer).resolve(value)
    except JsonPointerException as exc:
        raise _refused(str(exc)) from exc


def _too_deep(limits: Limits) -> LimitExceeded:
    return LimitExceeded(
        "json_depth", limits.json_depth, "nest less, or keep the inner part in a resource of its own"
    )


def _too_large(limits: Limits) -> LimitExceeded:
    return LimitExceeded("json_bytes", limits.json_bytes, "split the document over several resources")
