"""What the tests of every store say again and again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from streamres.model import AppendNumber, Description

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.model import Head, Position, Reading
    from streamres.store import Store

URI = "build://7/log"
OTHER = "build://8/log"
NOWHERE = "build://9/log"

IN_MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
"""For files of which only the content counts, and not what is on the disk when: thousands there take minutes."""


class OpenStore(Protocol):
    async def __call__(self, limits: Limits | None = None) -> Store: ...


def described(uri: str) -> Description:
    return Description(uri=uri, name="log")


def number(seq: int, *, producer: str = "p", epoch: int = 1) -> AppendNumber:
    return AppendNumber(producer=producer, epoch=epoch, seq=seq)


def text_of(reading: Reading) -> bytes:
    pieces: list[bytes] = []
    for piece in reading.step.slices():
        assert piece, "an empty slice: the walk may never end"
        pieces.append(piece)
    return b"".join(pieces)


async def content(store: Store, uri: str = URI) -> bytes:
    return text_of(await store.read(uri))


async def head_of(store: Store, uri: str = URI) -> Head:
    return (await store.entry(uri)).head


async def uris(store: Store, *, after: str | None = None, limit: int = 100) -> list[str]:
    return [entry.description.uri for entry in await store.list(after=after, limit=limit)]


async def observed(store: Store, since: Position) -> list[object]:
    """What anyone can learn of the store and of the resource at `URI`, whose position `since` is known."""
    readings = [await store.read(URI), await store.read(URI, since)]
    seen: list[object] = [(r.step.stop, text_of(r), r.state, r.digest, r.reset, r.more) for r in readings]
    return [*seen, await store.list(limit=100), await store.entry(URI)]
