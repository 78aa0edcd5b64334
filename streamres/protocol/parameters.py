"""The arguments of a tool that HTTP headers repeat: `x-mcp-header` of its schema, `Mcp-Param-*` (SEP-2243)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from streamres.protocol.envelope import decode_header, encode_header
from streamres.protocol.words import PARAM_HEADER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HEADER: Final = "x-mcp-header"
"""The keyword of a schema by which an argument is repeated in an HTTP header."""

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TYPES: Final = ("string", "integer", "boolean")
_SCHEMAS_BY_NAME: Final = frozenset({"$defs", "definitions", "patternProperties", "dependentSchemas"})
_DATA: Final = frozenset({"const", "default", "enum", "examples"})
"""Keywords that hold values: what looks like the keyword there is none."""


@dataclass(frozen=True, slots=True)
class HeaderArgument:
    """An argument that is repeated in the header `Mcp-Param-` and `name`."""

    name: str
    path: tuple[str, ...]

    def of(self, arguments: Mapping[str, Any]) -> object:
        """Gives the argument; None where there is none, or null, and then there is no header either."""
        value: object = arguments
        for step in self.path:
            value = value.get(step) if isinstance(value, dict) else None
        return value


def header_arguments(schema: Mapping[str, Any]) -> tuple[HeaderArgument, ...]:
    """Gives the arguments that the schema of a tool has in headers.

    Raises:
        ValueError: the keyword stands where it must not, or names no header of its own; the tool is invalid.
    """
    found: list[HeaderArgument] = []
    seen: set[str] = set()
    for path, place in _places(schema, ()):
        name = place[HEADER]
        if not path:
            raise ValueError(f"{HEADER} stands where no argument is that a call must lead to by names alone")
        if not isinstance(name, str) or not _TOKEN.fullmatch(name) or name.lower() in seen:
            raise ValueError(f"{HEADER} of {'.'.join(path)} is no name of a header of its own")
        if place.get("type") not in _TYPES:
            raise ValueError(f"{HEADER} is for texts, integers and booleans; {'.'.join(path)} is none of them")
        seen.add(name.lower())
        found.append(HeaderArgument(name, path))
    return tuple(found)


def argument_headers(headers: Iterable[HeaderArgument], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Gives the headers that repeat the arguments of one call."""
    return {
        f"{PARAM_HEADER}{header.name}": encode_header(_written(value))
        for header in headers
        if isinstance(value := header.of(arguments), str | int)
    }


def repeats(raw: str | None, value: object) -> bool:
    """Says whether a header says the same as an argument; integers are compared by their value."""
    said = decode_header(raw)
    match value:
        case bool():
            return said == _written(value)
        case int():
            try:
                return said is not None and float(said) == value
            except ValueError:
                return False
        case _:
            return said == value


def _written(value: str | int) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _places(
    schema: object, path: tuple[str, ...] | None
) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, Any]]]:
    """Every schema with the keyword, and the names that lead to it; None where other keywords are on the way."""
    if not isinstance(schema, dict):
        return
    if HEADER in schema:
        yield path, schema
    for keyword, inner in schema.items():
        if keyword == "properties" and isinstance(inner, dict):
            for name, part in inner.items():
                yield from _places(part, None if path is None else (*path, name))
        elif keyword in _SCHEMAS_BY_NAME and isinstance(inner, dict):
            for part in inner.values():
                yield from _places(part, None)
        elif keyword not in _DATA:
            for part in inner if isinstance(inner, list) else [inner]:
                yield from _places(part, None)
