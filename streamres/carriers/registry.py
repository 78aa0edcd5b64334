"""Every carrier by its id: the modules of this room, and what other packages offer."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.carriers.carrier import Carrier

GROUP: Final = "streamres.carriers"
"""The entry point group; each entry names an object that is a carrier."""

_OWN: Final = (
    "final_only",
    "reread",
    "progress_message",
    "sep_2998",
    "sep_3119",
    "sr_longpoll",
    "sr_notify",
    "sr_push",
)
"""In the order in which they are shown."""

_TOOLKIT: Final = frozenset({"carriers", "carrier", "content", "reach", "serving", "source"})


@cache
def carriers() -> Mapping[str, Carrier]:
    """Gives the carriers by id, those of other packages last.

    Raises:
        ValueError: two have one id.
    """
    own = [import_module(f"streamres.carriers.{name}").CARRIER for name in _OWN]
    others = [entry.load() for entry in entry_points(group=GROUP)]
    found: dict[str, Carrier] = {}
    for carrier in (*own, *others):
        if carrier.id in found:
            raise ValueError(f"two carriers have the id {carrier.id!r}")
        found[carrier.id] = carrier
    return found


def lines_of(carrier: Carrier) -> int:
    """Gives how many lines of code a carrier is, with what it shares with others of its family.

    Left out are docstrings, comments, blank lines, and what every carrier has: `_TOOLKIT`. So is the library, for
    the carriers that are its own.
    """
    return sum(map(_lines, _family(type(carrier).__module__)))


def _family(module: str) -> set[str]:
    found = {module}
    for node in ast.walk(ast.parse(inspect.getsource(import_module(module)))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("streamres.carriers"):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            own = {name for name in names if name in sys.modules and name.rpartition(".")[2] not in _TOOLKIT}
            for name in own - found:
                found |= _family(name)
    return found


def _lines(module: str) -> int:
    tree = ast.parse(inspect.getsource(import_module(module)))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_docstring(one)]  # type: ignore[attr-defined]
    return len(ast.unparse(tree).split("\n"))


def _is_docstring(node: object) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case _:
            return False
