"""The patch between two documents, for a producer that knows only what it has now.

A diff says what differs, not what was done, and can take long. It is looked for within a budget and proved by
applying it; where it fails, or is no smaller, the patch replaces the whole document.
"""

from __future__ import annotations

import json
from time import monotonic
from typing import TYPE_CHECKING, Final

from jsonpatch import JsonPatchException, JsonPatchWithAppend
from jsonpointer import JsonPointerException

from streamres.limits import Limits
from streamres.model.json_value import encode_given, encode_json

if TYPE_CHECKING:
    from streamres.model.json_value import JsonValue
    from streamres.model.patch import Operation

BUDGET_BYTES: Final = 1024 * 1024
"""The larger document, in JSON; comparing takes up to some 30 times as long as encoding."""

BUDGET_S: Final = 0.25
"""Seconds of comparing; objects with many names that differ take longer before they are given up."""

_MAX_OPERATIONS: Final = Limits().patch_ops
"""In a patch; what takes more is refused by servers."""


class _OverBudgetError(Exception):
    pass


def difference(
    before: JsonValue, after: JsonValue, *, budget_bytes: int = BUDGET_BYTES, budget_s: float = BUDGET_S
) -> list[Operation]:
    """Gives a patch that leads from `before` to `after`; empty where they are equal.

    Its operations are those of RFC 6902 but `move` and `copy`, and `append` for a string that grew.

    Raises:
        DeltaError: a value is no JSON value.
    """
    old, new = encode_json(before), encode_given(after)
    if old == new:
        return []
    whole: list[Operation] = [{"op": "replace", "path": "", "value": after}]
    if max(len(old), len(new)) > budget_bytes:
        return whole
    try:
        found = _compared(json.loads(old), json.loads(new), monotonic() + budget_s)
        if len(found) > _MAX_OPERATIONS or len(encode_json(found)) >= len(new):
            return whole
        if _canonical(JsonPatchWithAppend(found).apply(json.loads(old))) == _canonical(json.loads(new)):
            return found
    except (_OverBudgetError, JsonPatchException, JsonPointerException, RecursionError):
        pass
    return whole


def _compared(before: JsonValue, after: JsonValue, deadline: float) -> list[Operation]:
    def look_at_time() -> None:
        if monotonic() > deadline:
            raise _OverBudgetError

    class Key(str):
        """Stands for an item of an array; the items of two arrays are matched by looking them up."""

        __slots__ = ()

        def __hash__(self) -> int:
            look_at_time()
            return str.__hash__(self)

    def dumps(value: JsonValue) -> str:
        look_at_time()
        # What tells values apart is enough; of what is no array or object, Python's own words are the fastest.
        return Key(_canonical(value) if isinstance(value, dict | list) else repr(value))

    return list(JsonPatchWithAppend.from_diff(before, after, optimization=False, dumps=dumps).patch)


_canonical: Final = json.JSONEncoder(sort_keys=True).encode
