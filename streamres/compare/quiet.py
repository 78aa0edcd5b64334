"""When nothing is under way any more, here or in the servers: by what the kernel knows, not by waiting.

Here, an event loop that finds nothing to do, and no socket that can be read, has no bytes left to take. A server
whose every thread sleeps, and which used no CPU time while that was looked at, has none either: bytes that arrive
make it runnable before whoever sent them goes on.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Final

import anyio

from streamres.errors import StreamresError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamres.compare.process import ServerProcess

_LOOK_S: Final = 0.0002
_LONGEST_S: Final = 30.0
_OWN_PASSES: Final = 1
"""Passes of the loop that are due to our own sleep."""


class NeverQuiet(StreamresError):
    """A server is busy for too long."""


class WatchedSelector(selectors.SelectSelector):
    """Counts what an event loop has to do.

    By select(2): the waits of epoll are whole milliseconds, and there are few sockets here.
    """

    def __init__(self) -> None:
        super().__init__()
        self.busy = 0
        """Passes of the loop that had callbacks to run."""
        self.events = 0
        """Sockets that could be read or written."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Waits, as every selector does."""
        events = super().select(timeout)
        self.busy += timeout is not None and timeout <= 0
        self.events += len(events)
        return events


class WatchedLoop(asyncio.SelectorEventLoop):
    """The event loop in which a comparison runs."""

    def __init__(self) -> None:
        self.watched = WatchedSelector()
        super().__init__(self.watched)


async def quiet(servers: Iterable[ServerProcess]) -> None:
    """Returns when nothing is under way; to be called in a `WatchedLoop`.

    Raises:
        NeverQuiet: that is not so within 30 seconds.
    """
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WatchedLoop)
    here, servers = loop.watched, list(servers)
    try:
        with anyio.fail_after(_LONGEST_S):
            while True:
                busy, events, used = here.busy, here.events, [server.cpu_ns for server in servers]
                await anyio.sleep(_LOOK_S)
                # The pass that wakes us can have found events too, which are not taken yet.
                calm = here.busy - busy <= _OWN_PASSES and here.events == events
                # The servers last: what they sent before this look at them, the look at our sockets has seen.
                if calm and all(server.sleeps for server in servers) and used == [one.cpu_ns for one in servers]:
                    return
    except TimeoutError as exc:
        raise NeverQuiet(f"a server is busy for more than {_LONGEST_S:.0f} s") from exc
