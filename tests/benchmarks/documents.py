"""The document that is patched: rows as a table has them, a counter, and a text that grows."""

from __future__ import annotations

from typing import Any, Final

ROW_BYTES: Final = 100
"""About so many has each row in JSON."""

ROWS: Final = 1_000
"""Rows that patches are made to."""

GROWTH: Final = {"op": "append", "path": "/text", "value": "twenty bytes of text"}


def document_row(number: int) -> dict[str, Any]:
    """Gives one row."""
    return {"id": number, "state": "waiting", "attempts": 0, "host": f"worker-{number % 40}", "note": "x" * 28}


def document_patch(number: int) -> list[dict[str, Any]]:
    """Gives one small patch: a row changes, a counter counts, or a text grows."""
    match number % 3:
        case 0:
            return [{"op": "replace", "path": f"/rows/{number % ROWS}/attempts", "value": number}]
        case 1:
            return [{"op": "append", "path": "/text", "value": f"line {number}\n"}]
        case _:
            state = {"op": "replace", "path": f"/rows/{number % ROWS}/state", "value": "running"}
            return [state, {"op": "replace", "path": "/count", "value": number}]
