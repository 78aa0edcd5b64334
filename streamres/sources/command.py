"""Runs a command as it always runs, and hands over what it writes as it comes.

The command keeps its standard input, its terminal, its process group and its exit status. What it writes to a
terminal it writes to a pseudo-terminal of the same size, so colours and progress bars stay; that one changes no
byte (no CR before LF), the real terminal behind does it as always. What goes elsewhere goes through a pipe; where
standard output and error go to one place they share it, and so keep their order.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import termios
from array import array
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio

from streamres.errors import StreamresError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

DRAIN_S: Final = 1.0
"""Seconds that are waited after the command's end for children of it that hold the output open."""

_READ_BYTES: Final = 1024 * 1024
_PIPE_BYTES: Final = 1024 * 1024
_STDOUT, _STDERR = 1, 2


class CommandNotStarted(StreamresError):
    """The command could not be started; `code` is what a shell exits with: 127 not found, 126 not executable."""

    def __init__(self, name: str, exc: OSError) -> None:
        super().__init__(f"{name}: {(exc.strerror or str(exc)).lower()}")
        self.code = 127 if exc.errno == errno.ENOENT else 126


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code as a shell gives it, and the signal that killed it, if one did."""

    code: int
    killed_by: signal.Signals | None = None


class Channel:
    """One way out of the command: where we read it, and the file descriptor that it is mirrored to, if it is."""

    def __init__(self, source: int, mirror: int | None = None) -> None:
        self.source = source
        self.mirror = mirror
        self._owed: int | None = None  # bytes still to be taken, once no more is expected
        self._waiting = anyio.CancelScope()

    async def pump(self, take: Callable[[bytes], Awaitable[bool]]) -> None:
        """Hands over everything up to the end of the channel, or until `take` says that it wants no more.

        In the latter case the command gets SIGPIPE at its next write, as it would without us.
        """
        try:
            while self._owed is None or self._owed > 0:
                data = self._read()
                if data is None:
                    if self._owed is not None:
                        return
                    with anyio.CancelScope() as self._waiting:
                        await anyio.wait_readable(self.source)
                    continue
                if self._owed is not None:
                    self._owed -= len(
                        data
                    )  # before it is taken: meanwhile it can be said that no more is expected
                if not data or not await take(data):
                    return
        finally:
            self.close()

    def expect_no_more(self) -> None:
        """Ends the pump once it has handed over what is in the channel now."""
        if self.source >= 0:
            pending = array("i", [0])
            fcntl.ioctl(self.source, termios.FIONREAD, pending)
            self._owed = pending[0]
            self._waiting.cancel()

    def close(self) -> None:
        """Closes our end."""
        os.close(self.source)
        self.source = -1

    def _read(self) -> bytes | None:
        """What is there now: None for nothing yet, empty for the end."""
        try:
            return os.read(self.source, _READ_BYTES)
        except BlockingIOError:
            return None
        except OSError as exc:
            if exc.errno == errno.EIO:  # a pseudo-terminal whose last writer is gone
                return b""
            raise


class Command:
    """A running command."""

    def __init__(self, pid: int, channels: Sequence[Channel]) -> None:
        self._pid: int | None = pid
        self.channels = channels

    @property
    def running(self) -> bool:
        """Says whether the end was not seen yet."""
        return self._pid is not None

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the command; none once it has ended."""
        if self._pid is not None:
            os.kill(self._pid, number)

    async def wait(self) -> Ended:
        """Waits for the end and gives it."""
        assert self._pid is not None
        # Left a zombie by the thread and buried here, so that no signal can meet another process of that number.
        await anyio.to_thread.run_sync(
            os.waitid, os.P_PID, self._pid, os.WEXITED | os.WNOWAIT, abandon_on_cancel=True
        )
        _, status = os.waitpid(self._pid, 0)  # noqa: ASYNC222
        self._pid = None
        code = os.waitstatus_to_exitcode(status)
        return Ended(code) if code >= 0 else Ended(128 - code, signal.Signals(-code))

    async def drain(self, take: Callable[[Channel, bytes], Awaitable[bool]]) -> Ended:
        """Hands over all that the command writes, and gives its end.

        A child that outlives the command and holds the output open is heard for `DRAIN_S` seconds more.
        """

        async def pump(channel: Channel) -> None:
            await channel.pump(lambda data: take(channel, data))

        ended: list[Ended] = []

        async def wait() -> None:
            ended.append(await self.wait())
            with anyio.move_on_after(DRAIN_S):
                await pumped.wait()
            for channel in self.channels:
                channel.expect_no_more()

        pumped = anyio.Event()
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(wait)
            async with anyio.create_task_group() as pumping:
                for channel in self.channels:
                    pumping.start_soon(pump, channel)
            pumped.set()
        return ended[0]


def start(argv: Sequence[str], *, pty: bool | None, signal_mask: Iterable[int]) -> Command:
    """Starts a command found on PATH; `pty` None gives it a pseudo-terminal where ours is a terminal.

    `signal_mask` is the set of signals that are blocked in it.

    Raises:
        CommandNotStarted: there is no such command, or it cannot be executed.
    """
    channels: list[Channel] = []
    theirs: dict[int, int] = {}  # our descriptor of what the command writes to, by its descriptor
    terminal: int | None = None
    try:
        for fd in (_STDOUT, _STDERR):
            shared = next((other for other in theirs if _same_file(other, fd)), None)
            if shared is not None:
                theirs[fd] = theirs[shared]
            elif pty or (pty is None and os.isatty(fd)):
                if terminal is None:
                    source, terminal = _open_terminal(size_of=fd)
                    channels.append(Channel(source, fd))
                theirs[fd] = terminal
            else:
                source, theirs[fd] = open_pipe()
                channels.append(Channel(source, fd))
        pid = os.posix_spawnp(
            argv[0],
            list(argv),
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, ours, fd) for fd, ours in theirs.items()],
            setsigmask=list(signal_mask),
            # Python ignores these; a command expects them as the system has them.
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    except OSError as exc:
        for channel in channels:
            channel.close()
        raise CommandNotStarted(argv[0], exc) from exc
    finally:
        for ours in set(theirs.values()):
            os.close(ours)
    return Command(pid, channels)


def resize(command: Command) -> None:
    """Gives the command's pseudo-terminal the size of the terminal that it is mirrored to."""
    for channel in command.channels:
        source, mirror = channel.source, channel.mirror
        if source >= 0 and mirror is not None and os.isatty(source) and os.isatty(mirror):
            _copy_size(mirror, source)


def _open_terminal(*, size_of: int) -> tuple[int, int]:
    source, terminal = os.openpty()
    attributes = termios.tcgetattr(terminal)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
    if os.isatty(size_of):
        _copy_size(size_of, source)
    os.set_blocking(source, False)
    return source, terminal


def open_pipe() -> tuple[int, int]:
    """Gives a pipe that a channel can read, and where a command writes; both are the caller's to close."""
    source, sink = os.pipe()
    with suppress(OSError, AttributeError):  # Linux only, and bounded by its configuration
        fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    os.set_blocking(source, False)
    return source, sink


def _copy_size(of: int, to: int) -> None:
    size = fcntl.ioctl(of, termios.TIOCGWINSZ, bytes(8))
    fcntl.ioctl(to, termios.TIOCSWINSZ, size)


def _same_file(one: int, other: int) -> bool:
    first, second = os.fstat(one), os.fstat(other)
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
