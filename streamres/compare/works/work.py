"""A work: what a producer puts out, and when. Seeded, so that each carrier carries the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import orjson

from streamres.carriers.content import EMPTY, Append, Patch, Replace, applied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamres.carriers.content import Change, Kind, Value


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is put out, at which second of the work, and what it amounts to at every moment."""

    id: str
    title: str
    kind: Kind
    changes: Sequence[Change]
    at: Sequence[float]
    """The second at which each change is made; never falls."""
    end_at: float
    """The second at which the producer says that nothing follows."""
    document: Value = None
    """Of json, what is there before the first change."""

    @property
    def begin(self) -> Value:
        """The content before the first change."""
        return self.document if self.kind == "json" else EMPTY[self.kind]

    @cached_property
    def values(self) -> Sequence[Value]:
        """The true content after no change, one, two and so on."""
        values = [self.begin]
        for change in self.changes:
            values.append(applied(values[-1], change))
        return values

    @cached_property
    def payload_bytes(self) -> int:
        """What the changes amount to, as UTF-8, bytes or JSON: what has to be carried at least."""
        return sum(map(_size, self.changes))


def _size(change: Change) -> int:
    match change:
        case Append(data) | Replace(str(data)) | Replace(bytes(data)):
            return len(data.encode("utf-8") if isinstance(data, str) else data)
        case Patch(operations):
            return len(orjson.dumps(operations))
        case Replace(value):
            return len(orjson.dumps(value))
