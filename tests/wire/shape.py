"""What of a frame a schema can tell from another: the rest is left out, so that most frames look the same."""

from __future__ import annotations

from typing import Any

_TEXTS = frozenset({"cursor", "from", "to", "text", "uri", "name", "io.modelcontextprotocol/subscriptionId"})
"""Members for whose value a schema demands no more than a string that is not empty."""

_COUNTS = frozenset({"revision", "size", "start"})
"""Members for whose value a schema demands no more than an integer that is not negative."""


def shape(value: Any) -> Any:  # noqa: ANN401
    """Gives `value` with the same in place of all that a schema takes alike; a patch as it is."""
    match value:
        case dict():
            return {key: item if key == "patch" else _member(key, item) for key, item in value.items()}
        case list():
            return [shape(item) for item in value]
    return value


def _member(key: str, value: Any) -> Any:  # noqa: ANN401
    if key in _TEXTS and isinstance(value, str) and value:
        return "…"
    if key in _COUNTS and type(value) is int and value >= 0:
        return 0
    return shape(value)
