"""Writes, of each resource one batch after another: tried, published in one message, applied, then acknowledged.

The stream takes the message at one place only, right after the one on which it was tried. So a second attempt is
no second append, and what another server published in between is a conflict: the batch is tried again on it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio

from streamres.errors import StoreError, StreamresError
from streamres.store.nats.messages import Compact, Remove
from streamres.store.nats.publisher import Uploads
from streamres.store.nats.stream import end, logger
from streamres.store.nats.trial import Trials

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamres.limits import Limits
    from streamres.model import Head
    from streamres.store.nats.publisher import Publisher
    from streamres.store.nats.replica import Replica
    from streamres.store.nats.stream import Stream
    from streamres.store.nats.trial import Trial

BATCH: Final = 256
"""Writes in one message at most."""

CLOSE_S: Final = 5.0
"""Seconds for which writes are finished that are under way when the store is closed."""

_COMMAND_BYTES: Final = 256
"""What a write takes in a message beside its data, about."""


@dataclass(slots=True)
class _Write:
    act: Callable[[Trial], Head]
    size: int
    done: asyncio.Future[Head]
    alone: bool
    result: Head | StreamresError | None = None


class Writer:
    """Takes the writes of one server."""

    def __init__(
        self, stream: Stream, publisher: Publisher, replica: Replica, limits: Limits, *, roll_up_bytes: int
    ) -> None:
        self._publisher = publisher
        self._stream = stream
        self._replica = replica
        self._trials = Trials(replica, limits)
        self._roll_up_bytes = roll_up_bytes
        self._waiting: dict[str, deque[_Write]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._closed = False

    async def write(self, uri: str, act: Callable[[Trial], Head], size: int, *, alone: bool = False) -> Head:
        """Gives what `act` gives, once it is kept and applied; one that is cancelled waits until it is known (S5).

        `alone` is for a write that has a message to itself.

        Raises:
            StoreError: nothing of it is kept, or, where it says so, nobody knows.
            StreamresError: what `act` refuses.
        """
        if self._closed:
            raise StoreError(f"{self._stream.address.shown} was closed")
        write = _Write(act, size, self._loop.create_future(), alone)
        if (waiting := self._waiting.get(uri)) is not None:
            waiting.append(write)
        else:
            self._waiting[uri] = deque([write])
            task = self._loop.create_task(self._run(uri))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(write.done)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await asyncio.wait([write.done])
            write.done.exception()
            raise

    async def close(self) -> None:
        """Publishes what waits, as far as the servers answer."""
        self._closed = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_S)
        await end(self._tasks)

    async def _run(self, uri: str) -> None:
        """Writes to one resource as long as there is something to write."""
        waiting = self._waiting[uri]
        batch: list[_Write] = []
        try:
            while waiting:
                batch = self._batch(waiting)
                least = await self._settle(uri, batch)
                for write in batch:
                    self._tell(write)
                await self._roll_up(uri, least)
        finally:
            del self._waiting[uri]
            for write in (*batch, *waiting):
                if not write.done.done():
                    write.done.set_exception(self._publisher.unknown("the store was closed"))

    def _batch(self, waiting: deque[_Write]) -> list[_Write]:
        room, inline = self._stream.max_data_bytes, self._publisher.inline_bytes
        batch: list[_Write] = []
        while waiting and len(batch) < BATCH:
            room -= _COMMAND_BYTES + (waiting[0].size if waiting[0].size <= inline else 0)
            if batch and (room < 0 or waiting[0].alone or batch[-1].alone):
                break
            batch.append(waiting.popleft())
        return batch

    async def _settle(self, uri: str, batch: list[_Write]) -> int:
        """Finds the result of each write; gives what messages have to take to be rolled up then."""
        uploads = Uploads()
        try:
            while True:
                trial = self._trials.take(uri)
                for write in batch:
                    try:
                        write.result = write.act(trial)
                    except StreamresError as exc:
                        write.result = exc
                if not trial.commands:
                    # Nothing to publish, so nothing that tells whether this server knows the newest.
                    await self._publisher.catch_up()
                    if self._replica.seq_of(uri) == trial.base:
                        self._trials.put(uri, trial, trial.base)
                        return self._roll_up_bytes
                    continue
                compacts = any(isinstance(command, Compact) for command in trial.commands)
                removes = isinstance(trial.commands[0], Remove)
                seq = await self._publisher.publish(uri, trial.base, trial.commands, uploads, roll_up=removes)
                if seq is not None:
                    self._trials.put(uri, trial, seq)
                    if removes:
                        await self._publisher.purge_parts(uri, seq, uploads)
                    return 0 if compacts else self._roll_up_bytes
        except Exception as exc:
            # Whatever it was, everyone in the batch is told.
            failure = exc if isinstance(exc, StreamresError) else self._publisher.unknown(repr(exc))
            for write in batch:
                write.result = failure
            return self._roll_up_bytes

    @staticmethod
    def _tell(write: _Write) -> None:
        assert write.result is not None
        if isinstance(write.result, StreamresError):
            write.done.set_exception(write.result)
        else:
            write.done.set_result(write.result)

    async def _roll_up(self, uri: str, least: int) -> None:
        trial = self._trials.take(uri)
        try:
            seq = await self._publisher.roll_up(uri, least=least)
        except Exception as exc:
            logger.warning("%s was not rolled up: %r", uri, exc)  # it is kept as it was
        else:
            self._trials.put(uri, trial, seq or trial.base)
