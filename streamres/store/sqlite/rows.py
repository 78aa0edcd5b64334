"""The rows of resources, as values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from streamres.errors import ResourceNotFound, StoreError, UriInvalid
from streamres.model import Description, Entry, Head, Position

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

COLUMNS = "id, description, content, floor, floor_length, change, epoch, revision, length, state, digest"


@dataclass(slots=True, kw_only=True)
class Row:
    """One resource as the file has it."""

    id: int
    description: Description
    content: int
    floor: int
    floor_length: int
    change: int
    head: Head

    @property
    def entry(self) -> Entry:
        """The resource as lists have it."""
        return Entry(description=self.description, head=self.head)


def row_of(values: Sequence[Any]) -> Row:
    """Gives the row of `COLUMNS`.

    Raises:
        StoreError: it is damaged.
    """
    return Row(
        id=values[0],
        description=_description(values[1]),
        content=values[2],
        floor=values[3],
        floor_length=values[4],
        change=values[5],
        head=head_of(values[6:]),
    )


def head_of(values: Sequence[Any]) -> Head:
    """Gives the head of the columns epoch, revision, length, state, digest."""
    epoch, revision, length, state, digest = values
    return Head(position=Position(epoch, revision, length), state=state, digest=digest)


def find(db: sqlite3.Connection, uri: str) -> Row:
    """Gives the row of a resource.

    Raises:
        ResourceNotFound: there is none.
    """
    found = db.execute(f"SELECT {COLUMNS} FROM resource WHERE uri = ?", (uri,)).fetchone()
    if found is None:
        raise ResourceNotFound(uri)
    return row_of(found)


def description_json(description: Description) -> str:
    """Gives what is kept of a description."""
    return orjson.dumps(asdict(description)).decode()


@lru_cache(maxsize=1024)
def _description(kept: str) -> Description:
    try:
        members = orjson.loads(kept)
        return Description(**{**members, "audience": tuple(members["audience"])})
    except (ValueError, TypeError, LookupError, UriInvalid) as exc:
        raise StoreError(f"a description is damaged; see what `streamres doctor` finds ({exc!r})") from exc
