"""Where resources live: the one protocol that every backend fulfils, and the mark by which readers wait.

What a store owes (the contract suite in `tests/store` holds every backend to it):

S1  appends to one URI are linearizable, and acknowledged only when as durable as the backend promises
S2  a read since gives a contiguous run
S3  waiting is level-triggered: a change before, during or after the wait is seen
S4  readers never hold up a writer
S5  an append that is cancelled leaves all or nothing
S6  what a subscriber costs is one position a resource
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from streamres.model import AppendNumber, Description, Entry, Head, Position, ProducerStanding, Reading, Seal


@lru_cache(maxsize=4096)
def covering(uri: str) -> tuple[str, ...]:
    """Gives the URIs whose watching covers the resource at `uri`: its own, and each above it that ends in `/`."""
    above = [uri[: index + 1] for index, char in enumerate(uri) if char == "/"]
    return (uri, *(prefix for prefix in above if prefix != uri))


class Watch:
    """The marks of one reader: the newest head of each resource that changed since the reader last took them.

    Never a queue: a reader that is slow finds one head a resource, however much was committed (SR-6.4).
    """

    __slots__ = ("_heads", "_list_changed", "_wake", "_woken")

    def __init__(self) -> None:
        self._heads: dict[str, Head] = {}
        self._list_changed = False
        self._woken = False
        self._wake: asyncio.Future[None] | None = None

    def mark(self, uri: str, head: Head) -> None:
        """Notes that the resource is now at `head`."""
        self._heads[uri] = head
        self._set()

    def mark_list(self) -> None:
        """Notes that the list of resources changed."""
        self._list_changed = True
        self._set()

    def wake(self) -> None:
        """Ends the present or the next wait, with or without a mark."""
        self._woken = True
        self._set()

    @property
    def marked(self) -> bool:
        """Says whether there is a mark to take."""
        return bool(self._heads) or self._list_changed

    async def wait(self) -> None:
        """Returns when there is a mark to take, or after `wake`; at once where there is one already (S3)."""
        while not (self.marked or self._woken):
            # Not an anyio.Event: a new one for every wait made up half of what a notification costs.
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        self._woken = False

    def take(self) -> dict[str, Head]:
        """Gives the heads marked since the last time, and forgets them."""
        heads, self._heads = self._heads, {}
        return heads

    def take_list_changed(self) -> bool:
        """Says whether the list changed since the last time, and forgets it."""
        changed, self._list_changed = self._list_changed, False
        return changed

    def _set(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class Store(Protocol):
    """Keeps resources and their histories. Errors are those of `ResourceLog.commit` and `ResourceNotFound`."""

    async def create(self, description: Description, content: bytes = b"") -> Head:
        """Makes a resource, empty or with its first content, which for json is the JSON of a document.

        Raises:
            DeltaError: it is not content of the kind.
            ResourceExists: the URI is taken.
            LimitExceeded: one resource too many.
        """
        ...

    async def append(
        self,
        uri: str,
        data: bytes,
        *,
        seal: Seal | None = None,
        number: AppendNumber | None = None,
        expected_revision: int | None = None,
        expected_digest: str | None = None,
        create: Description | None = None,
        cause: str | None = None,
    ) -> Head:
        """Appends, seals, or both in one step; see `ResourceLog.commit`.

        With `create` a resource that is not there is made in the same step; one of another kind is a DeltaError.
        """
        ...

    async def replace(self, uri: str, data: bytes) -> Head:
        """Puts other content in place, in an epoch of its own (SR-2.4)."""
        ...

    async def compact(self, uri: str, floor: int) -> None:
        """Forgets the revisions below `floor` (SR-3.5)."""
        ...

    async def remove(self, uri: str) -> None:
        """Removes a resource with all that is kept of it; one that is made there again has another epoch (SR-2.4).

        Raises:
            ResourceNotFound: there is none.
        """
        ...

    async def entry(self, uri: str) -> Entry:
        """Gives what the resource is and where it stands."""
        ...

    async def producer(self, uri: str, producer: str) -> ProducerStanding | None:
        """Gives where a producer of the resource stands, so that it can go on; None for one that never wrote."""
        ...

    async def read(
        self,
        uri: str,
        since: Position | None = None,
        *,
        max_bytes: int | None = None,
        tail_bytes: int | None = None,
        append_op: bool = True,
    ) -> Reading:
        """Gives the delta after `since`, or a snapshot; see `ResourceLog.read`."""
        ...

    async def list(self, *, after: str | None = None, limit: int) -> list[Entry]:
        """Gives up to `limit` resources in the order of their creation, from the one after the URI `after`.

        One that is not `listed` is left out; it can be the URI `after` as any other.
        """
        ...

    def watch(self, uris: Iterable[str], *, list_changed: bool = False) -> AbstractContextManager[Watch]:
        """Marks, while the context lasts, every commit to `uris`, there or not yet, and changes of the list.

        Of a resource that is removed, the list is marked, where it was in it, and nothing else.

        A URI that ends in `/` stands for every resource below it too (SR-7.2).

        From the moment it returns nothing is missed: subscribe first, then read (V3).
        """
        ...
