"""The judge: compares what a reader had, moment by moment, with what the producer had put out.

It knows the work and the report of the run, and no carrier. It shares no code with the model of streamable
resources, so a mistake there is not believed here (K3).
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import jsonpatch
import orjson

from streamres.carriers.content import Append, Patch
from streamres.compare.alignment import Alignment
from streamres.compare.timeline import Committed, Joined, Shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamres.carriers.content import Value
    from streamres.compare.timeline import Timeline
    from streamres.compare.works import Work

Word = Literal["exact", "corrected", "lost, said", "lost, silent", "doubled", "disordered", "wrong"]
Flaw = Literal["lost", "doubled", "disordered", "wrong"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of the content in one cell."""

    word: Word
    """`exact`: at the end all of it, and never anything else than what there had been. `corrected`: at the end all
    of it, but for a time something else. `lost, said` and `lost, silent`: at the end not all of it, and the reader
    knew, or did not. `doubled`, `disordered`, `wrong`: at the end something else, and the reader did not know."""
    during: tuple[Flaw, ...]
    """What was not right for a time, or at the end."""
    said: bool
    """The reader said at some time that something was lost."""
    end_known: bool
    """The reader knew at the end that nothing follows."""
    seen: int
    """Changes that were in the reader's copy at some time."""
    first_s: float | None
    """Seconds of the work from the first change, or from when the reader came later, until the reader had one."""
    staleness_s: tuple[float, ...]
    """Of each change that was made when the reader was there, and that it had: after how many seconds; sorted."""
    recovery_s: float | None
    """Seconds from what went wrong, or the coming of a reader that is late, until the copy was as new as the
    producer's, the longest; None without."""
    recovery_bytes: int | None
    """What the reader was sent in that time, the most."""


def judge(work: Work, timeline: Timeline, hit: Sequence[int] = ()) -> Verdict:
    """Gives the verdict; `hit` are the changes at which something went wrong."""
    return _Judge(work).judge(timeline, hit)


class _Judge:
    def __init__(self, work: Work) -> None:
        self._work = work
        self._truth: dict[bytes, list[int]] = {}
        for count, value in enumerate(work.values):
            self._truth.setdefault(_key(value), []).append(count)
        changes = [change.data if isinstance(change, Append) else None for change in work.changes]
        self._alignment = Alignment(changes) if all(change is not None for change in changes) else None
        self._flaws: dict[Flaw, None] = {}
        self._committed: list[float] = []
        self._seen: dict[int, float] = {}
        self._exact = 0
        """The version that the copy was at last."""
        self._guessed = False
        """The copy has been another than any version since, and how it came to be is judged already."""
        self._value: Value = None

    def judge(self, timeline: Timeline, hit: Sequence[int]) -> Verdict:
        open_: list[tuple[float, int]] = []
        recoveries: list[tuple[float, int]] = []
        said, last = False, None
        joined_at, known = 0.0, 0
        for entry in timeline.entries:
            match entry:
                case Committed():
                    if entry.count in hit and entry.count > len(self._committed):  # the end comes without a change
                        open_.append((entry.at, entry.bytes_down))
                    self._committed += [entry.at] * (entry.count - len(self._committed))
                case Joined():
                    joined_at, known = entry.at, len(self._committed)
                    if known:
                        open_.append((joined_at, 0))
                case Shown():
                    last = entry
                    said = said or entry.seen.lost
                    if self._look(entry):
                        recoveries += [
                            (max(0.0, entry.at - at), entry.bytes_down - before) for at, before in open_
                        ]
                        open_.clear()
        whole = last is not None and _key(last.seen.value) == _key(self._work.values[-1])
        later = [(index, at) for index, at in self._seen.items() if index >= known]
        staleness = sorted(max(0.0, at - self._committed[index]) for index, at in later)
        first = min(self._seen.values(), default=None)
        recovered = bool(recoveries) and not open_
        return Verdict(
            word=self._word(whole=whole, lost=last is not None and last.seen.lost, said=said),
            during=tuple(self._flaws),
            said=said,
            end_known=last is not None and last.seen.ended,
            seen=len(self._seen),
            first_s=None if first is None else max(0.0, first - max(joined_at, self._committed[0])),
            staleness_s=tuple(staleness),
            recovery_s=max(seconds for seconds, _ in recoveries) if recovered else None,
            recovery_bytes=max(size for _, size in recoveries) if recovered else None,
        )

    def _word(self, *, whole: bool, lost: bool, said: bool) -> Word:
        if whole:
            return "corrected" if self._flaws or said else "exact"
        if lost:
            return "lost, said"
        match list(self._flaws):
            case ["doubled"]:
                return "doubled"
            case ["disordered"] | ["doubled", "disordered"] | ["disordered", "doubled"]:
                return "disordered"
            case ["wrong"]:
                return "wrong"
            case _:
                return "lost, silent"

    def _look(self, shown: Shown) -> bool:
        """Takes one look at the copy; says whether it is the producer's content of now."""
        value, committed = shown.seen.value, len(self._committed)
        before, self._value = self._value, value
        if value is None and self._work.begin is not None:
            return False
        known = self._truth.get(_key(value), [])
        if (until := bisect_right(known, committed)) > 0:
            # Of equal versions, the first that does not go back.
            count = next((count for count in known[:until] if count >= self._exact), known[until - 1])
            if count < self._exact:
                self._flaw("disordered")
            self._exact, self._guessed = count, False
            self._have(range(count), shown.at)
            if self._alignment is not None:
                self._alignment.stand(count)
            return _key(value) == _key(self._work.values[committed])
        if self._alignment is None:
            if not self._guessed:
                self._guess(value, committed)
            self._guessed = True
        else:
            self._align(value, before, committed, shown.at)
        return False

    def _align(self, value: Value, before: Value, committed: int, at: float) -> None:
        alignment = self._alignment
        assert alignment is not None
        if before is None or not value.startswith(before):
            alignment.stand(0)
            before = value[:0]
        alignment.add(value[len(before) :], committed)
        self._have(alignment.times, at)
        if alignment.foreign:
            self._flaw("wrong")
        if alignment.doubled:
            self._flaw("doubled")
        if alignment.disordered:
            self._flaw("disordered")
        if alignment.holes:
            self._flaw("lost")

    def _guess(self, value: Value, committed: int) -> None:
        """Finds how a document came to be that never was: by a patch twice, one left out, or two swapped."""
        changes, key = self._work.changes, _key(value)
        first, base = self._exact, self._work.values[self._exact]
        if any(
            _patched(self._work.values[count], changes[count - 1 : count]) == key for count in (first, committed)
        ):
            self._flaw("doubled")
        elif any(
            _patched(base, [*changes[first:left], *changes[left + 1 : stop]]) == key
            for left in range(first, committed)
            for stop in range(left + 2, committed + 1)
        ):
            self._flaw("lost")
        elif any(
            _patched(base, [*changes[first:at], changes[at + 1], changes[at]]) == key
            for at in range(first, committed - 1)
        ):
            self._flaw("disordered")
        else:
            self._flaw("wrong")

    def _have(self, indices: Iterable[int], at: float) -> None:
        for index in indices:
            self._seen.setdefault(index, at)

    def _flaw(self, flaw: Flaw) -> None:
        self._flaws.setdefault(flaw)


def _key(value: Value) -> bytes:
    match value:
        case bytes():
            return b"b" + value
        case str():
            return b"t" + value.encode("utf-8", "surrogatepass")
        case _:
            return b"j" + orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _patched(base: Value, changes: Sequence[Any]) -> bytes | None:
    """The key of a document after patches; None where one does not apply."""
    with suppress(jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, KeyError):
        value = copy.deepcopy(base)
        for change in changes:
            if not isinstance(change, Patch):
                return None
            value = jsonpatch.apply_patch(value, list(change.operations), in_place=True)
        return _key(value)
    return None
