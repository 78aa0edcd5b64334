"""How much history a store keeps of one resource by itself: so many bytes, so many seconds (SR-3.5).

Content is kept whole whatever is forgotten of its history: whoever comes with an older cursor gets a snapshot and
`expired`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.model.log import ResourceLog

_MARKS: Final = 64
"""Moments remembered within the time that history is kept: it may be kept longer by one part in so many."""


class Retention:
    """Applies `Limits.history_bytes` and `Limits.history_s` to one log. Times are of any clock."""

    __slots__ = ("_limits", "_marks")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._marks: deque[tuple[float, int, int]] = deque()  # time, epoch, the revision that was the head then

    def apply(self, log: ResourceLog, now: float) -> None:
        """Forgets what is past keeping at the time `now`, in seconds; for each read, and each commit.

        A cursor that was the head's within the last `history_s` seconds stays good.
        """
        if (most := self._limits.history_bytes) is not None:
            log.compact_to(most)
        if (keep_s := self._limits.history_s) is None:
            return
        marks, head = self._marks, log.head.position
        while len(marks) > 1 and marks[1][0] <= now - keep_s:
            marks.popleft()
        if marks and marks[0][0] <= now - keep_s and marks[0][1] == head.epoch:
            log.compact(marks[0][2])
        if not marks or now - marks[-1][0] >= keep_s / _MARKS:
            marks.append((now, head.epoch, head.revision))
