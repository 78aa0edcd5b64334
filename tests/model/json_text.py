"""JSON as the product parses it, at its usual depth."""

from __future__ import annotations

from typing import Any

from streamres.model.json_value import parse_json

DEPTH = 128


def parsed(data: bytes | str) -> Any:  # noqa: ANN401
    return parse_json(data.encode() if isinstance(data, str) else data, max_depth=DEPTH)
