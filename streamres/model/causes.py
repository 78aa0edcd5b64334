"""What led to the revisions of an epoch: the inputs that their appends named (SR-8.4.a).

Kept in runs, since one input mostly leads to many revisions; a revision whose append named none is in no run.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from streamres.errors import DeltaError, LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamres.model.cursor import Position
    from streamres.model.revisions import Revisions

MAX_CAUSE_CHARS: Final = 256
"""Longest name of an input: a message or a key is named, not repeated."""

_RUN_BYTES: Final = 24
"""What a run takes beside its name where it is kept, about."""


class Run(NamedTuple):
    """Revisions one after another with the same cause."""

    first: int
    last: int
    cause: str


def check_cause(cause: str | None) -> None:
    """Refuses what names no input.

    Raises:
        LimitExceeded: it is longer than `MAX_CAUSE_CHARS`.
        DeltaError: it is empty, or has a lone surrogate, which no UTF-8 has.
    """
    if cause is None:
        return
    if len(cause) > MAX_CAUSE_CHARS:
        raise LimitExceeded("cause_chars", MAX_CAUSE_CHARS, "name the input by a short id")
    if not cause:
        raise DeltaError("a cause names an input; leave it out where there is none")
    try:
        cause.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise DeltaError(f"the cause has a lone surrogate at index {exc.start}") from exc


class Causes:
    """The causes of the revisions from the floor on."""

    __slots__ = ("_runs", "size")

    def __init__(self, runs: Sequence[Run] = ()) -> None:
        self._runs = list(runs)
        self.size = sum(map(_size_of, self._runs))
        """Bytes that they take where they are kept, about."""

    @property
    def runs(self) -> Sequence[Run]:
        """All that there is, oldest first."""
        return self._runs

    def add(self, revision: int, cause: str) -> None:
        """Says what led to the newest revision."""
        if self._runs and self._runs[-1].last == revision - 1 and self._runs[-1].cause == cause:
            self._runs[-1] = self._runs[-1]._replace(last=revision)
        else:
            self._runs.append(Run(revision, revision, cause))
            self.size += _size_of(self._runs[-1])

    def between(self, first: int, last: int) -> Sequence[Run]:
        """Gives the runs that have a revision from `first` to `last`, oldest first."""
        begin = bisect_left(self._runs, first, key=attrgetter("last"))
        return self._runs[begin : bisect_right(self._runs, last, begin, key=attrgetter("first"))]

    def of(self, start: Position, stop: Position, revisions: Revisions) -> tuple[str, ...]:
        """Gives what led to a delta, each once, oldest first; to a part of a revision, what led to the whole."""
        if start == stop:
            return ()
        runs = self.between(start.revision, stop.revision)
        if runs and runs[0].last == start.revision and start.length == revisions.end(start.revision):
            runs = runs[1:]  # of that revision, the reader has everything
        return tuple(dict.fromkeys(run.cause for run in runs))

    def begun(self) -> Causes:
        """Gives those of a new epoch, none yet."""
        return Causes()

    def forget(self, floor: int) -> None:
        """Forgets those of revisions below `floor`, as far as a run has no later one."""
        del self._runs[: bisect_left(self._runs, floor, key=attrgetter("last"))]
        self.size = sum(map(_size_of, self._runs))


def _size_of(run: Run) -> int:
    return _RUN_BYTES + len(run.cause.encode("utf-8"))
