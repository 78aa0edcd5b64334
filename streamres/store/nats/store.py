"""The store in a stream of NATS JetStream: any of several servers over it answers any cursor (SR-4.2).

Each server holds everything in memory, a replica of what the stream says, and reads from there. What it writes it
publishes, and acknowledges once the stream has it and the replica too. So each server needs memory for all
content; the stream is what outlives them.

Of a resource that is removed one small message stays, after which the next of its URI comes; all others of it go.

Without a connection reads go on from what is there, and writes are refused. A server that is behind asks the
stream before it says that a cursor is ahead of it, or that something does not exist.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import anyio

from streamres.errors import LimitExceeded, ResourceNotFound, StoreError
from streamres.limits import Limits
from streamres.store.nats.address import Address
from streamres.store.nats.feed import Feed
from streamres.store.nats.publisher import Publisher
from streamres.store.nats.replica import Replica
from streamres.store.nats.stream import Stream, end
from streamres.store.nats.writer import Writer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from contextlib import AbstractContextManager

    from streamres.model import AppendNumber, Description, Entry, Head, Position, ProducerStanding, Reading, Seal
    from streamres.store.base import Watch
    from streamres.store.nats.resource import Resource

PATIENCE_S: Final = 12.0
"""Seconds for which a write waits for a connection, or for the stream's leader: one is elected in 4 to 9."""

OUTCOME_S: Final = 30.0
"""Seconds for which a write waits that may be in the stream or not; it is told then that nobody knows."""

OPEN_S: Final = 15.0
"""Seconds in which servers have to answer when the store is opened."""

CATCH_UP_S: Final = 2.0
"""Seconds for which a read waits for what its cursor says that there is, before it is told `ahead`."""

ROLL_UP_BYTES: Final = 1024 * 1024
"""What the messages of one resource take at least before one takes their place."""


class NatsStore:
    """Keeps every resource in one stream; made by `open`."""

    def __init__(self, replica: Replica, publisher: Publisher, writer: Writer, limits: Limits) -> None:
        self._replica = replica
        self._publisher = publisher
        self._writer = writer
        self._limits = limits

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        address: str,
        limits: Limits | None = None,
        *,
        patience_s: float = PATIENCE_S,
        outcome_s: float = OUTCOME_S,
        open_s: float = OPEN_S,
        roll_up_bytes: int = ROLL_UP_BYTES,
    ) -> AsyncIterator[NatsStore]:
        """Gives the store in the stream at `address`, made if need be, once all of it was read.

        `address` looks like `nats://HOST:PORT[,HOST:PORT…][/STREAM]`. All servers over one stream should have the
        same limits: each write is held to those of the server that takes it. Messages of a resource that take
        `roll_up_bytes`, and more than twice what it does, are replaced by one.

        Raises:
            StoreError: no server answers within `open_s` seconds, or the stream holds something else.
        """
        limits = limits or Limits()
        where = Address.parse(address)
        async with Stream.open(where, patience_s=open_s) as stream:
            replica = Replica(where, limits)
            feed = Feed(stream, replica)
            feeding = asyncio.create_task(feed.run())
            try:
                publisher = Publisher(stream, replica, patience_s=patience_s, outcome_s=outcome_s)
                await feed.begun(open_s)
                await publisher.catch_up(open_s)  # a feed may come from a server of NATS that is itself behind
                writer = Writer(stream, publisher, replica, limits, roll_up_bytes=roll_up_bytes)
                try:
                    yield cls(replica, publisher, writer, limits)
                finally:
                    with anyio.CancelScope(shield=True):
                        await writer.close()
            finally:
                with anyio.CancelScope(shield=True):
                    await end([feeding])

    async def create(self, description: Description, content: bytes = b"") -> Head:
        self._check_size(content)
        return await self._writer.write(
            description.uri, lambda trial: trial.create(description, content), len(content) + _size_of(description)
        )

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
        self._check_size(data)
        size = (
            len(data)
            + (0 if create is None else _size_of(create))
            + (0 if number is None else 6 * len(number.producer))
            + (0 if cause is None else 6 * len(cause))
        )
        return await self._writer.write(
            uri,
            lambda trial: trial.append(data, seal, number, expected_revision, expected_digest, create, cause),
            size,
        )

    async def replace(self, uri: str, data: bytes) -> Head:
        self._check_size(data)
        return await self._writer.write(uri, lambda trial: trial.replace(data), len(data))

    async def compact(self, uri: str, floor: int) -> None:
        await self._writer.write(uri, lambda trial: trial.compact(floor), 0)

    async def remove(self, uri: str) -> None:
        await self._writer.write(uri, lambda trial: trial.remove(), 0, alone=True)

    async def entry(self, uri: str) -> Entry:
        return (await self._get(uri)).entry

    async def producer(self, uri: str, producer: str) -> ProducerStanding | None:
        # Whoever asks goes on from there, so it has to be the newest.
        await self._publisher.catch_up()
        return self._replica.get(uri).tracks.standing(producer)

    async def read(
        self,
        uri: str,
        since: Position | None = None,
        *,
        max_bytes: int | None = None,
        tail_bytes: int | None = None,
        append_op: bool = True,
    ) -> Reading:
        resource = await self._get(uri)
        reading = resource.log.read(since, max_bytes=max_bytes, tail_bytes=tail_bytes, append_op=append_op)
        if reading.reset in ("ahead", "epoch") and await self._caught_up():
            log = self._replica.get(uri).log
            return log.read(since, max_bytes=max_bytes, tail_bytes=tail_bytes, append_op=append_op)
        return reading

    async def list(self, *, after: str | None = None, limit: int) -> list[Entry]:
        return self._replica.list(after, limit)

    def watch(self, uris: Iterable[str], *, list_changed: bool = False) -> AbstractContextManager[Watch]:
        return self._replica.watches.watch(uris, list_changed=list_changed)

    async def _get(self, uri: str) -> Resource:
        try:
            return self._replica.get(uri)
        except ResourceNotFound:
            if not await self._caught_up():
                raise
            return self._replica.get(uri)

    async def _caught_up(self) -> bool:
        """Says whether there was something new that this server had not heard of."""
        before = self._replica.seq
        with suppress(StoreError):
            await self._publisher.catch_up(CATCH_UP_S)
        return self._replica.seq > before

    def _check_size(self, data: bytes) -> None:
        if len(data) > self._limits.append_bytes:
            raise LimitExceeded("append_bytes", self._limits.append_bytes, "make several appends of it")


def _size_of(description: Description) -> int:
    """Bytes of a description in a message, at most about."""
    texts = (description.uri, description.name, description.mime_type, description.title, description.description)
    return sum(6 * len(text) for text in texts if text)
