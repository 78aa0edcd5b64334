"""The end of a server: everything that waits is woken, so that it can end in order."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.store import Watch


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
