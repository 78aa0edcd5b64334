"""What a patch does, in plain Python on a copy, by the words of RFC 6901, RFC 6902 and SR-2.5; and random patches.

Shares no code with the product or with the library that it applies patches with.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st

# Without the phase that explains a failure: it takes minutes where many examples fail.
QUICKLY = settings(deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink))

Json = Any
Operation = dict[str, Any]


class Refused(Exception):
    """The patch cannot be applied."""


def patched(document: Json, patch: list[Operation]) -> Json:
    """The document after the patch; the one that was given stays as it is.

    Raises:
        Refused: an operation cannot be made.
    """
    holder = {"": deepcopy(document)}  # so that the root is a member like any other
    for operation in patch:
        _make(holder, operation)
    return holder[""]


def _make(holder: Json, operation: Operation) -> None:
    path = ["", *_tokens(operation["path"])]
    match operation["op"]:
        case "add":
            _add(holder, path, deepcopy(operation["value"]))
        case "remove":
            if len(path) == 1:
                raise Refused("the root cannot be removed")
            _remove(holder, path)
        case "replace":
            parent, key = _existing(holder, path)
            parent[key] = deepcopy(operation["value"])
        case "move":
            source = ["", *_tokens(operation["from"])]
            if source != path and path[: len(source)] == source:
                raise Refused("into its own child")
            parent, key = _existing(holder, source)
            value = parent[key]
            if source != path:
                _remove(holder, source)
                _add(holder, path, value)
        case "copy":
            parent, key = _existing(holder, ["", *_tokens(operation["from"])])
            _add(holder, path, deepcopy(parent[key]))
        case "test":
            parent, key = _existing(holder, path)
            if not same(parent[key], operation["value"]):
                raise Refused("not equal")
        case "append":
            parent, key = _existing(holder, path)
            if len(path) == 1 or type(parent[key]) is not str:
                raise Refused("not a string in something")
            parent[key] += operation["value"]


def _tokens(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _index(token: str, length: int) -> int:
    """The index that a token means in an array where indices below `length` do."""
    digits = token != "" and all(char in "0123456789" for char in token)
    if not digits or (token != "0" and token[0] == "0") or len(token) > 9 or int(token) >= length:
        raise Refused(f"no index {token}")
    return int(token)


def _holder(holder: Json, path: list[str]) -> Json:
    for token in path[:-1]:
        parent, key = _key(holder, token)
        holder = parent[key]
    return holder


def _key(parent: Json, token: str) -> tuple[Json, str | int]:
    match parent:
        case dict():
            if token not in parent:
                raise Refused(f"no member {token}")
            return parent, token
        case list():
            return parent, _index(token, len(parent))
        case _:
            raise Refused("nothing is inside")


def _existing(holder: Json, path: list[str]) -> tuple[Json, Any]:
    return _key(_holder(holder, path), path[-1])


def _add(holder: Json, path: list[str], value: Json) -> None:
    match parent := _holder(holder, path):
        case dict():
            parent[path[-1]] = value
        case list():
            parent.insert(len(parent) if path[-1] == "-" else _index(path[-1], len(parent) + 1), value)
        case _:
            raise Refused("nothing can be added inside")


def _remove(holder: Json, path: list[str]) -> None:
    parent, key = _existing(holder, path)
    del parent[key]


def same(one: Json, other: Json) -> bool:
    """Whether two values are equal by RFC 6902, 4.6: numbers by their value, and no number is a truth value."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
        case list(), list():
            return len(one) == len(other) and all(map(same, one, other))
        case ((int() | float()), (int() | float())):
            return one == other
        case _:
            return type(one) is type(other) and one == other


NAMES = ("a", "b", "a/b", "m~n", "", "0", "1", "-", "01", "é")
leaves = st.sampled_from([None, True, False, 0, 1, 1.0, -0.0, 2**70, "", "a", "text\n", "é😀", "\u2028"])
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)
_words = st.sampled_from(["", "a", "é\n"])
_inside = st.recursive(
    _words,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3)
    ),
    max_leaves=6,
)
growing = st.lists(_inside, min_size=1, max_size=3) | st.dictionaries(
    st.sampled_from(NAMES), _inside, min_size=1, max_size=3
)
"""Documents with strings to append to."""


def pointer(path: list[str]) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in path)


def places(value: Json, path: tuple[str, ...] = ()) -> list[list[str]]:
    """The path of the value and of everything inside it."""
    match value:
        case dict():
            inside = [found for name, inner in value.items() for found in places(inner, (*path, name))]
        case list():
            inside = [found for index, inner in enumerate(value) for found in places(inner, (*path, str(index)))]
        case _:
            inside = []
    return [list(path), *inside]


def _strings(document: Json) -> list[list[str]]:
    return [path for path in places(document) if path and isinstance(_at(document, path), str)]


def _at(document: Json, path: list[str]) -> Json:
    parent, key = _existing({"": document}, ["", *path])
    return parent[key]


@st.composite
def operations(draw: st.DrawFn, document: Json, *, sound: bool) -> Operation:
    """An operation on the document; a sound one can be made."""
    there = places(document)
    if not sound:
        loose = st.lists(
            st.sampled_from([*NAMES, "2", "9", "-1", "00", "1e0", " 1", "²", "٣", "9" * 30]), max_size=3
        )
        anywhere = st.sampled_from(there) | loose | st.builds(lambda a, b: a + b, st.sampled_from(there), loose)
        op = draw(st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "append"]))
        made: Operation = {"op": op, "path": pointer(draw(anywhere))}
        if op in ("move", "copy"):
            made["from"] = pointer(draw(anywhere))
        elif op == "append":
            made["value"] = draw(st.sampled_from(["", "x", "é\n"]))
            made["path"] = made["path"] or "/a"
        elif op != "remove":
            made["value"] = draw(documents)
        return made
    strings = _strings(document)
    kinds = (
        ["add", "replace", "test", "copy"] + ["remove", "move"] * (len(there) > 1) + ["append"] * 3 * bool(strings)
    )
    op = draw(st.sampled_from(kinds))
    if op == "append":
        return {"op": op, "path": pointer(draw(st.sampled_from(strings))), "value": draw(st.sampled_from("xyé"))}
    path = draw(st.sampled_from(there))
    if op == "test":
        return {"op": op, "path": pointer(path), "value": deepcopy(_at(document, path))}
    if op == "replace":
        return {"op": op, "path": pointer(path), "value": draw(documents)}
    if op == "remove":
        return {"op": op, "path": pointer(draw(st.sampled_from(there[1:])))}
    source = draw(st.sampled_from(there[1:] or there)) if op in ("move", "copy") else None
    within = document if source is None or op == "copy" else patched(document, [_removal(source)])
    target = draw(st.sampled_from([*places(within), *_new_places(within)]))
    if source is None:
        return {"op": op, "path": pointer(target), "value": draw(documents)}
    made = {"op": op, "from": pointer(source), "path": pointer(target)}
    try:
        patched(document, [made])
    except Refused:  # into its own child
        return {"op": "test", "path": "", "value": deepcopy(document)}
    return made


def _removal(path: list[str]) -> Operation:
    return {"op": "remove", "path": pointer(path)}


def _new_places(document: Json) -> list[list[str]]:
    new = []
    for path in places(document):
        match _at(document, path):
            case dict():
                new += [[*path, "new"], [*path, "a/b"]]
            case list() as items:
                new += [[*path, "-"], [*path, str(len(items))]]
    return new


@st.composite
def patches(draw: st.DrawFn, document: Json, *, sound: bool | None = None, max_size: int = 5) -> list[Operation]:
    """A patch to the document, each operation made for what those before it lead to; sound, or mostly so."""
    patch: list[Operation] = []
    for _ in range(draw(st.integers(1, max_size))):
        operation = draw(
            operations(document, sound=sound is True or (sound is None and draw(st.integers(0, 4)) > 0))
        )
        patch.append(operation)
        try:
            document = patched(document, [operation])
        except Refused:
            break
    return patch
