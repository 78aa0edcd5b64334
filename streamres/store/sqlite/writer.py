"""The one thread that writes to a file: what waits is written together, and acknowledged when it is on disk."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio

from streamres.errors import StoreError, StreamresError
from streamres.store.sqlite.books import Books, News
from streamres.store.sqlite.schema import explained, open_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streamres.limits import Limits

BATCH: Final = 1024
"""Writes in one transaction at most."""

BATCH_BYTES: Final = 4 * 1024 * 1024
"""Bytes in one transaction, about: more would make the first of them wait."""

ResultT = TypeVar("ResultT")


@dataclass(slots=True)
class _Write:
    act: Callable[[Books], Any]
    size: int
    done: asyncio.Future[Any]


class Writer:
    """Writes to one file, from `start` on until it is closed."""

    def __init__(
        self,
        path: Path,
        limits: Limits,
        clock: Callable[[], float],
        told: Callable[[News], None],
    ) -> None:
        self._path = path
        self._db = open_file(path, writes=True)
        self._books = Books(self._db, limits, clock)
        self._told = told
        self._waiting: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._asked: list[_Write] = []
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"streamres writer of {path}", daemon=True)

    def start(self) -> None:
        """Begins to write what waits."""
        self._thread.start()

    def abandon(self) -> None:
        """Closes the file without a start."""
        self._db.close()

    async def write(self, act: Callable[[Books], ResultT], size: int) -> ResultT:
        """Gives what `act` gives, once it is on the disk; one that is cancelled waits until it is known (S5).

        Raises:
            StoreError: nothing of it is kept.
            StreamresError: what `act` refuses.
        """
        if self._closed:
            raise StoreError(f"{self._path} was closed")
        done: asyncio.Future[ResultT] = self._loop.create_future()
        if not self._asked:
            self._loop.call_soon(self._hand_over)
        self._asked.append(_Write(act, size, done))
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await asyncio.wait([done])
            done.exception()
            raise

    async def close(self) -> None:
        """Writes what waits, and closes the file."""
        if not self._closed:
            self._closed = True
            self._hand_over()
            self._waiting.put(None)
            await asyncio.to_thread(self._thread.join)

    def _hand_over(self) -> None:
        """Wakes the thread for all that was asked for in one turn of the loop, not for the first of it alone."""
        for write in self._asked:
            self._waiting.put(write)
        self._asked.clear()

    def _run(self) -> None:
        while (batch := self._batch()) is not None:
            results, news = self._written(batch)
            try:
                self._loop.call_soon_threadsafe(self._tell, batch, results, news)
            except RuntimeError:  # the loop has ended: nobody waits any more
                break
        self._db.close()

    def _batch(self) -> list[_Write] | None:
        """Waits for a write, and takes those that wait with it; None at the end."""
        first = self._waiting.get()
        if first is None:
            return None
        batch, size = [first], first.size
        while len(batch) < BATCH and size < BATCH_BYTES:
            try:
                write = self._waiting.get_nowait()
            except queue.Empty:
                break
            if write is None:
                self._waiting.put(None)
                break
            batch.append(write)
            size += write.size
        return batch

    def _written(self, batch: list[_Write]) -> tuple[list[Any], News]:
        results: list[Any] = []
        try:
            with explained(self._path):
                self._books.begin()
                for write in batch:
                    try:
                        results.append(write.act(self._books))
                    except StoreError:
                        raise
                    except StreamresError as exc:
                        results.append(exc)
                return results, self._books.finish()
        except Exception as exc:
            # Whatever it was, nothing of the batch is kept, and everyone in it is told so.
            with suppress(sqlite3.Error):
                self._books.forget()
            failure = exc if isinstance(exc, StoreError) else StoreError(f"{self._path}: {exc!r}")
            return [failure] * len(batch), News()

    def _tell(self, batch: list[_Write], results: list[Any], news: News) -> None:
        self._told(news)
        for write, result in zip(batch, results, strict=True):
            if isinstance(result, StreamresError):
                write.done.set_exception(result)
            else:
                write.done.set_result(result)
