"""A patch with `append` operations as RFC 6902 alone has it, for readers that did not ask for more (SR-2.5).

The equal `replace` needs the whole string. The document that a patch leads to holds it, unless a later operation
of the same patch has moved, read or overwritten it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from jsonpointer import JsonPointer

from streamres.model.patch import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamres.model.json_value import JsonValue
    from streamres.model.patch import Operation

_COMPARISONS: Final = 20_000
"""Operations looked at for each string that grew, in all: some 0.1 s at most."""

_INDEX: Final = re.compile("0|[1-9][0-9]*")
"""What can name an item of an array."""

_Effect = Literal["none", "overwrites", "unclear"]


def lowered_to(after: JsonValue, operations: Iterable[Operation]) -> list[Operation] | None:
    """Gives operations without `append` that lead to the document `after`, where `operations` lead.

    None where a string that grew was read on the way or may have moved, or where finding out would take too long.
    """
    kept: list[Operation] = []
    grown: dict[str, list[str]] = {}
    budget = _COMPARISONS
    for operation in operations:
        if operation["op"] == "append":
            grown.setdefault(operation["path"], tokens(operation["path"]))
            continue
        kept.append(operation)
        budget -= len(grown)
        if budget < 0:
            return None
        for path, place in tuple(grown.items()):
            match effect_on(place, operation):
                case "overwrites":
                    del grown[path]
                case "unclear":
                    return None
                case "none":
                    pass
    kept += [{"op": "replace", "path": path, "value": JsonPointer(path).resolve(after)} for path in grown]
    return kept


def lowered_from(before: JsonValue, operations: list[Operation]) -> list[Operation] | None:
    """Gives operations without `append` that do to the document `before` what `operations` do.

    None where a string that grows may not be where it is in `before`, or where finding out would take too long.
    """
    budget = _COMPARISONS
    result: list[Operation] = []
    others: list[Operation] = []
    places: dict[str, list[str]] = {}
    grown: dict[str, tuple[Operation, list[str]]] = {}
    for operation in operations:
        path = operation["path"]
        if operation["op"] != "append":
            others.append(operation)
            result.append(operation)
            budget -= len(places)
            if budget < 0:
                return None
            places = {path: place for path, place in places.items() if effect_on(place, operation) == "none"}
            continue
        if path not in places:
            budget -= len(others)
            place = places[path] = tokens(path)
            there = JsonPointer(path).resolve(before, None)
            if budget < 0 or not isinstance(there, str):
                return None
            if any(effect_on(place, other) != "none" for other in others):
                return None
            grown[path] = {"op": "replace", "path": path}, [there]
            result.append(grown[path][0])
        grown[path][1].append(operation["value"])
    for replacing, texts in grown.values():
        # Whole where it first grew: nothing up to where it grew last reads it.
        replacing["value"] = "".join(texts)
    return result


def effect_on(place: list[str], operation: Operation) -> _Effect:
    """Says what an operation means for the string at `place`: nothing, that it is gone, or something else."""
    op, path = operation["op"], tokens(operation["path"])
    if op == "test":
        return "unclear" if _above(path, place) else "none"
    if op in ("move", "copy"):
        source = tokens(operation["from"])
        if _above(source, place) or (op == "move" and _shifts(source, place)):
            return "unclear"
    if op == "remove":
        return "overwrites" if _above(path, place) else _moved(path, place)
    if op == "replace":
        return "overwrites" if _above(path, place) else "none"
    # What is added into an array moves its neighbours; what is added to an object takes a place.
    if _above(path, place):
        return "unclear" if path and _INDEX.fullmatch(path[-1]) else "overwrites"
    return _moved(path, place)


def _above(path: list[str], place: list[str]) -> bool:
    """Whether `path` is the place itself, or holds it."""
    return place[: len(path)] == path


def _moved(path: list[str], place: list[str]) -> _Effect:
    return "unclear" if _shifts(path, place) else "none"


def _shifts(path: list[str], place: list[str]) -> bool:
    """Whether an item that comes or goes at `path` may be in an array that holds the place further on."""
    if not path or len(path) > len(place) or place[: len(path) - 1] != path[:-1]:
        return False
    ours, theirs = place[len(path) - 1], path[-1]
    if not (_INDEX.fullmatch(ours) and _INDEX.fullmatch(theirs)):
        return False
    # As numbers, but a name in an object may have more digits than Python makes a number of.
    return (len(theirs), theirs) <= (len(ours), ours)
