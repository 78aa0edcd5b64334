"""What uploads take while they are under way: how many there are, and how many bytes they hold."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamres.errors import Overloaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streamres.limits import Limits


class InFlight:
    """Bounds the uploads of one endpoint, and counts what became of them.

    Where a store is slow its uploads wait, and those for which there is no more room are refused for the moment.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.uploads = 0
        """Uploads that are read, or wait for the store."""
        self.held_bytes = 0
        """What they hold, or have announced."""
        self.taken = 0
        """Uploads that were acknowledged so far."""
        self.refused: Counter[str] = Counter()
        """Uploads that were refused so far, by the reason."""
        self.dropped_bytes = 0
        """What producers said that they have dropped before they sent it."""

    @contextmanager
    def admitted(self) -> Iterator[Callable[[int], None]]:
        """Has room for one upload while the context lasts; what it gives is told how many bytes that holds by now.

        Raises:
            Overloaded: there is no room at the moment.
        """
        if self.uploads >= self._limits.uploads:
            raise Overloaded("uploads", self._limits.uploads, "send it again later")
        held = 0

        def hold(total: int) -> None:
            nonlocal held
            others = self.held_bytes - held
            # One that is alone has room: how large it is, `append_bytes` says.
            if others and others + total > self._limits.upload_bytes:
                raise Overloaded("upload_bytes", self._limits.upload_bytes, "send it again later")
            self.held_bytes, held = others + total, total

        self.uploads += 1
        try:
            yield hold
        finally:
            self.uploads -= 1
            self.held_bytes -= held
