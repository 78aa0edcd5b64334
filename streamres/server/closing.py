"""The end of a server: everything that waits is woken, so that it can end in order."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from streamres.server.dispatch import Dispatcher
    from streamres.store import Watch

_QUIET_S: Final = 0.25
"""A reader that asks for nothing for so long has what it wants: pages of one catch-up follow at once."""


class Closing:
    """Knows who waits, and wakes them all when the end begins."""

    def __init__(self) -> None:
        self._watches: set[Watch] = set()
        self.begun = False
        """Whether the server is on its way out; whoever waits looks here after each wake-up."""

    @contextmanager
    def waking(self, watch: Watch) -> Iterator[None]:
        """Wakes `watch` at the end, if that comes while the context lasts."""
        self._watches.add(watch)
        try:
            yield
        finally:
            self._watches.discard(watch)

    def begin(self) -> None:
        """Begins the end."""
        self.begun = True
        for watch in self._watches:
            watch.wake()


async def until_quiet(dispatchers: Collection[Dispatcher]) -> None:
    """Returns when nobody asks for anything any more, and every subscriber has been sent all there is."""
    before = 0
    while (now := sum(dispatcher.requests for dispatcher in dispatchers)) != before or any(
        dispatcher.subscriptions.behind for dispatcher in dispatchers
    ):
        before = now
        await anyio.sleep(_QUIET_S)
