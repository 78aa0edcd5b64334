"""Whether what was assembled is what the final result has: `equal`, `prefix` or `different` (SR-11.2.c)."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from streamres.model.json_value import json_digest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from hashlib import _Hash

    from streamres.model import JsonValue

Outcome = Literal["equal", "prefix", "different"]


class Assembled:
    """The bytes of one part, of which only the number and a digest are held."""

    def __init__(self) -> None:
        self._size = 0
        self._hash: _Hash = sha256()

    def add(self, data: bytes) -> None:
        """Takes note of more."""
        self._size += len(data)
        self._hash.update(data)

    def against(self, final: bytes) -> Outcome:
        """Gives the outcome: equal, a beginning of the final bytes, or neither."""
        if sha256(final[: self._size]).digest() != self._hash.digest() or self._size > len(final):
            return "different"
        return "equal" if self._size == len(final) else "prefix"


def of_values(assembled: JsonValue, final: JsonValue) -> Outcome:
    """Gives the outcome for documents: half of one is another."""
    digests = json_digest(assembled), json_digest(final)
    same = digests[0] == digests[1] if None not in digests else assembled == final
    return "equal" if same else "different"


def of_all(outcomes: Iterable[Outcome]) -> Outcome:
    """Gives the outcome of a call: that of its worst part; of no part, a prefix of anything."""
    found = set(outcomes) or {"prefix"}
    return "different" if "different" in found else "prefix" if "prefix" in found else "equal"
