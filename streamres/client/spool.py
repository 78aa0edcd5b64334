"""A producer's own spool: a folder in which what it was given outlives it, until the server has it.

`journal` says which bytes were cut into which append, and `….data` has the bytes as they came. A restart finds
both and makes the very same appends. What was acknowledged stays while there is room: a server that lost it gets
it again, and the digest at the seal goes over all.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import contextmanager
from secrets import token_hex
from typing import TYPE_CHECKING, Final

import anyio

from streamres.client.backlog import Numbered
from streamres.client.journal import Journal
from streamres.client.segments import Segments
from streamres.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from streamres.model import Kind, Seal

_SEGMENTS: Final = 8
"""Files that a full spool has, about: what was delivered is removed file by file."""

_RETAINED: Final = 65_536
"""Appends that are remembered after they were acknowledged."""


class Spool:
    """A backlog in a folder; one process at a time has it.

    Raises:
        StoreError: another process has it, it is another producer's, or it cannot be read or written.
    """

    limit_name = "spool_bytes"

    def __init__(self, folder: Path, uri: str, *, kind: Kind, producer: str | None, limit: int) -> None:
        self.folder = folder = folder.expanduser()
        self.limit = limit
        with self._explained():
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with self._explained():
                self._claim()
                about = {"uri": uri, "kind": kind, "producer": producer, "epoch": 0}
                self._journal = journal = Journal(folder / "journal", about)
                self._segments = Segments(folder, max(1, limit // _SEGMENTS))
                if journal.about["producer"] is None:
                    journal.about["producer"] = token_hex(8)
                    journal.rewrite()
                self._resume()
        except BaseException:
            os.close(self._lock)
            raise
        self._writing = anyio.Lock()

    def _claim(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise StoreError(
                f"{self.folder} is in use by another push; end that, or choose another folder"
            ) from exc

    def _resume(self) -> None:
        journal, segments = self._journal, self._segments
        numbered_to = journal.appends[-1].end if journal.appends else 0
        if not journal.found:
            segments.truncate(0)
        elif not journal.same_boot or journal.source is not None:
            # What the disk may not have is not what was given; a file is read again from there.
            segments.truncate(max(journal.kept, numbered_to))
        self.end = max(segments.end, numbered_to)
        self.numbered_to = segments.next_from(numbered_to)
        self.next_seq = journal.appends[-1].seq + 1 if journal.appends else 0
        self._acknowledged = 0  # how many of the journal's appends
        self._numbered_bytes = sum(append.end - append.begin for append in journal.appends)

    def _is_whole(self, append: Numbered) -> bool:
        return append.begin == append.end or self._segments.has(append.begin)

    @property
    def producer(self) -> str:
        """The producer's id, which stays with the folder."""
        return str(self._journal.about["producer"])

    @property
    def epoch(self) -> int:
        """The producer's epoch."""
        return int(self._journal.about["epoch"])

    @property
    def resumed(self) -> bool:
        """Says whether a process before this one has numbered appends here."""
        return self.next_seq > 0

    @property
    def retained(self) -> list[Numbered]:
        """The appends that can be sent again."""
        return [append for append in self._journal.appends if self._is_whole(append)]

    @property
    def pending(self) -> Numbered | None:
        """The oldest append that is not acknowledged."""
        appends = self._journal.appends
        return appends[self._acknowledged] if self._acknowledged < len(appends) else None

    @property
    def seal(self) -> Seal | None:
        """The seal, where it was numbered."""
        appends = self._journal.appends
        return appends[-1].seal if appends else None

    @property
    def waiting(self) -> int:
        """Bytes that are not delivered."""
        return self._numbered_bytes + self.end - self.numbered_to

    async def go_on_in(self, fd: int) -> None:
        """Sets a regular file to where the spool is in it; of others, what was taken is gone from them.

        Raises:
            StoreError: the spool's bytes are from another file.
        """
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return
        source = self._journal.source
        if source is None:
            origin = os.lseek(fd, 0, os.SEEK_CUR) - self.end
            source = {"device": status.st_dev, "inode": status.st_ino, "origin": origin}
            async with self._writing:
                with self._explained():
                    self._journal.come_from(source)
                    self._journal.sync()
        elif (source["device"], source["inode"]) != (status.st_dev, status.st_ino):
            raise StoreError(
                f"{self.folder} has begun with another input file; choose another folder for this one"
            )
        os.lseek(fd, source["origin"] + self.end, os.SEEK_SET)

    def add(self, data: bytes) -> None:
        """Takes bytes."""
        with self._explained():
            self._segments.append(data, self.end)
        self._grow(len(data))

    def take_from(self, fd: int, most: int) -> int:
        """Takes up to `most` bytes that a file has; gives how many, 0 at its end."""
        with self._explained():
            taken = self._segments.take_from(fd, most, self.end)
        self._grow(taken)
        return taken

    def unnumbered(self, most: int) -> bytes:
        """Gives the first bytes that are not numbered."""
        return self._segments.read(self.numbered_to, min(self.numbered_to + most, self.end))

    def raw(self, append: Numbered) -> bytes:
        """Gives the bytes that an append is made of."""
        return self._segments.read(append.begin, append.end)

    async def number(self, end: int, *, notice: str = "", dropped: int = 0, seal: Seal | None = None) -> None:
        """Makes the next append of all up to `end`; once it returns, a restart makes the very same."""
        append = Numbered(
            seq=self.next_seq, begin=self.numbered_to, end=end, notice=notice, dropped=dropped, seal=seal
        )
        async with self._writing:
            with self._explained():
                await anyio.to_thread.run_sync(self._write_down, append)
        self.next_seq += 1
        self._numbered_bytes += end - append.begin
        self.numbered_to = self._segments.next_from(end)

    def skip(self, size: int) -> None:
        """Passes over bytes that are not numbered."""
        begin = self.numbered_to
        self.numbered_to += size
        appends = self._journal.appends
        self._segments.remove(min(appends[-1].end if appends else 0, begin), self.numbered_to)

    def delivered(self) -> None:
        """Notes that the pending append was acknowledged."""
        append = self._journal.appends[self._acknowledged]
        self._acknowledged += 1
        self._numbered_bytes -= append.end - append.begin
        self._make_room()

    def take_back(self) -> None:
        """Keeps what was refused: another server, or the next version of it, may take it."""

    async def begin_at(self, epoch: int, seq: int) -> None:
        """Goes on in an epoch, of which the numbers below `seq` are acknowledged."""
        if epoch != self.epoch:
            async with self._writing:
                self._journal.about["epoch"] = epoch
                with self._explained():
                    self._journal.rewrite()
        appends = self._journal.appends
        self._acknowledged = sum(append.seq < seq for append in appends)
        self._numbered_bytes = sum(append.end - append.begin for append in appends[self._acknowledged :])
        self._make_room()

    async def keep(self) -> None:
        """Brings what was taken onto the disk."""
        async with self._writing:
            if self._segments.dirty:
                with self._explained():
                    end = self.end
                    await anyio.to_thread.run_sync(self._segments.sync)
                    self._journal.keep(end)
                    await anyio.to_thread.run_sync(self._journal.sync)

    def close(self, *, finished: bool) -> None:
        """Lets go of the folder; where all is `finished` it is emptied."""
        self._segments.close()
        self._journal.close()
        if finished:
            for path in [self.folder / "journal", *self.folder.glob("*.data")]:
                path.unlink(missing_ok=True)
        os.close(self._lock)

    def _write_down(self, append: Numbered) -> None:
        """Brings an append onto the disk, its bytes first; runs in a thread."""
        self._segments.sync()
        self._journal.add(append)
        if self._journal.overgrown:
            self._journal.rewrite()
        else:
            self._journal.sync()

    def _grow(self, size: int) -> None:
        self.end += size
        self._make_room()

    def _make_room(self) -> None:
        """Removes what was delivered, the oldest first, as far as it is in the way."""
        appends = self._journal.appends
        if self._segments.size > self.limit:
            first = self.pending.begin if self.pending is not None else self.numbered_to
            self._segments.remove(0, first, down_to=self.limit)
        gone = 0
        while gone < self._acknowledged - 1 and (
            len(appends) - gone > _RETAINED or not self._is_whole(appends[gone])
        ):
            gone += 1
        if gone:
            del appends[:gone]
            self._acknowledged -= gone

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            raise StoreError(f"the spool {self.folder}: {exc.strerror or exc}") from exc
