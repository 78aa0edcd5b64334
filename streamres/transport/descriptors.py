"""Reading and writing file descriptors without holding up the loop: no thread, and no flag changed.

A descriptor can be shared with the parent and with other programs (a terminal, `2>&1`), so it is never made
non-blocking. A call is made only where `poll` says that it returns at once; a regular file, on which no loop can
wait, is always ready.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import stat
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel

if TYPE_CHECKING:
    from collections.abc import Callable

_READ_BYTES: Final = 64 * 1024
_WRITE_BYTES: Final = 256 * 1024
"""What is written before others have their turn (V4)."""

_FIRST_FREE: Final = 3


def claim_standard_streams() -> tuple[int, int]:
    """Gives private copies of standard input and output, for good: frames alone go out by the second.

    From then on standard output leads to standard error, for `print`, for libraries and for child processes
    alike, and standard input is empty. Nothing is put back: what is printed at exit is no frame either.
    """
    source, sink = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for fd in (0, 1))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        os.dup2(null, 1)
    os.close(null)
    return source, sink


async def read_some(fd: int) -> bytes:
    """Gives what is there to read, nothing at the end; a peer that went is an end."""
    while not _ready(fd, select.POLLIN):
        await anyio.wait_readable(fd)
    await anyio.lowlevel.checkpoint()  # a file or a fast writer gives way to the others
    try:
        return os.read(fd, _READ_BYTES)
    except OSError:
        return b""


async def until_hung_up(fd: int) -> None:
    """Returns when nobody can read what is written any more; never where the system does not tell."""
    if not hasattr(select, "epoll"):
        await anyio.sleep_forever()
    with select.epoll() as poll:
        try:
            poll.register(fd, 0)  # errors and hang-ups are told unasked
        except OSError:  # a regular file
            await anyio.sleep_forever()
        await anyio.wait_readable(poll.fileno())


class Sink:
    """Writes all that it is given to one descriptor, at the pace of the peer."""

    def __init__(self, fd: int) -> None:
        self.written = 0
        """Bytes taken by the peer so far."""
        self._fd = fd
        self._turn = 0
        self._write, self._most = _writer(fd)

    async def write(self, data: bytes) -> None:
        """Writes all of `data`.

        Raises:
            OSError: nobody reads any more, or the disk is full.
        """
        rest = memoryview(data)
        while rest:
            while not _ready(self._fd, select.POLLOUT):
                await anyio.wait_writable(self._fd)
            try:
                count = self._write(self._fd, rest[: self._most])
            except BlockingIOError:
                await anyio.lowlevel.checkpoint()
                continue
            self.written += count
            self._turn += count
            rest = rest[count:]
            if self._turn >= _WRITE_BYTES:
                self._turn = 0
                await anyio.lowlevel.checkpoint()


def _writer(fd: int) -> tuple[Callable[[int, memoryview], int], int]:
    """Gives how to write to a descriptor that is ready, and how much at most, so that the call returns at once."""
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode):
        return _send, _WRITE_BYTES
    if stat.S_ISREG(mode):
        return os.write, _WRITE_BYTES
    return os.write, select.PIPE_BUF  # POSIX: a pipe that is ready takes so much whole


def _send(fd: int, data: memoryview) -> int:
    sock = socket.socket(fileno=fd)
    try:
        return sock.send(data, socket.MSG_DONTWAIT)
    finally:
        sock.detach()


def _ready(fd: int, event: int) -> bool:
    poll = select.poll()
    poll.register(fd, event)
    return bool(poll.poll(0))
