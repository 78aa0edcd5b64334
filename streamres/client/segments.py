"""A run of bytes in the files of one folder, each named by the offset at which it begins."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_SUFFIX: Final = ".data"
_NO_SPLICE: Final = {errno.EINVAL, errno.EBADF, errno.ENOSYS, errno.ESPIPE}


@dataclass(slots=True)
class _Segment:
    path: Path
    fd: int
    begin: int
    size: int

    @property
    def end(self) -> int:
        return self.begin + self.size


class Segments:
    """Bytes from `begin` to `end`, with holes where the middle was removed; a new file each `segment_bytes`."""

    def __init__(self, folder: Path, segment_bytes: int) -> None:
        self._folder = folder
        self._segment_bytes = segment_bytes
        paths = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: int(path.stem))
        self._segments = [_opened(path) for path in paths]
        self._dirty: set[int] = set()
        self._made = False

    @property
    def begin(self) -> int:
        """Where the first file begins."""
        return self._segments[0].begin if self._segments else 0

    @property
    def end(self) -> int:
        """Where the last file ends."""
        return self._segments[-1].end if self._segments else 0

    @property
    def size(self) -> int:
        """Bytes in all files."""
        return sum(segment.size for segment in self._segments)

    def append(self, data: bytes, at: int) -> None:
        """Adds bytes at the end, which is `at`."""
        segment = self._last(at)
        rest = memoryview(data)
        while rest:
            written = os.pwrite(segment.fd, rest, segment.size)
            segment.size += written
            rest = rest[written:]
        self._dirty.add(segment.fd)

    def take_from(self, fd: int, most: int, at: int) -> int:
        """Adds what a file has, up to `most`; gives how many bytes, 0 at its end.

        From a pipe they go by themselves, so no moment can end the process in which they are in its memory alone.
        """
        if hasattr(os, "splice") and stat.S_ISFIFO(os.fstat(fd).st_mode):
            segment = self._last(at)
            try:
                taken = os.splice(fd, segment.fd, most, offset_dst=segment.size)
            except OSError as exc:
                if exc.errno not in _NO_SPLICE:
                    raise
            else:
                segment.size += taken
                self._dirty.add(segment.fd)
                return taken
        data = os.read(fd, most)
        self.append(data, at)
        return len(data)

    def read(self, begin: int, end: int) -> bytes:
        """Gives the bytes of a range; what was removed of it is left out."""
        pieces: list[bytes] = []
        for segment in self._segments:
            start, stop = max(begin, segment.begin), min(end, segment.end)
            while start < stop:
                piece = os.pread(segment.fd, stop - start, start - segment.begin)
                if not piece:
                    break
                pieces.append(piece)
                start += len(piece)
        return b"".join(pieces)

    def has(self, offset: int) -> bool:
        """Says whether the byte at `offset` is there."""
        return any(segment.begin <= offset < segment.end for segment in self._segments)

    def next_from(self, offset: int) -> int:
        """Gives the first offset from `offset` on that is not in a hole."""
        for segment in self._segments:
            if offset < segment.end:
                return max(offset, segment.begin)
        return max(offset, self.end)

    def remove(self, begin: int, end: int, *, down_to: int = 0) -> None:
        """Removes the files that lie within a range, the oldest first, while all are larger than `down_to`."""
        for segment in list(self._segments):
            if self.size <= down_to:
                return
            if begin <= segment.begin and segment.end <= end:
                self._segments.remove(segment)
                self._dirty.discard(segment.fd)
                os.close(segment.fd)
                segment.path.unlink(missing_ok=True)

    def truncate(self, end: int) -> None:
        """Cuts off what lies after `end`."""
        self.remove(end, max(end, self.end))
        if self._segments and self._segments[-1].end > end:
            last = self._segments[-1]
            last.size = end - last.begin
            os.ftruncate(last.fd, last.size)

    def sync(self) -> None:
        """Returns when all that was added before is on the disk."""
        dirty, self._dirty = self._dirty, set()
        for fd in dirty:
            try:
                os.fdatasync(fd)
            except OSError as exc:
                if exc.errno != errno.EBADF:  # one that was removed meanwhile
                    raise
        if self._made:
            self._made = False
            sync_folder(self._folder)

    @property
    def dirty(self) -> bool:
        """Says whether something was added since the last `sync`."""
        return bool(self._dirty)

    def close(self) -> None:
        """Closes the files."""
        for segment in self._segments:
            os.close(segment.fd)
        self._segments.clear()

    def _last(self, at: int) -> _Segment:
        last = self._segments[-1] if self._segments else None
        if last is None or last.end != at or last.size >= self._segment_bytes:
            path = self._folder / f"{at:020d}{_SUFFIX}"
            last = _Segment(path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), at, 0)
            self._segments.append(last)
            self._made = True
        return last


def sync_folder(folder: Path) -> None:
    """Returns when the names in a folder are on the disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _opened(path: Path) -> _Segment:
    fd = os.open(path, os.O_RDWR)
    return _Segment(path, fd, int(path.stem), os.fstat(fd).st_size)
