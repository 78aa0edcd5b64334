"""A carrier with a fault of its own is not believed: each kind of fault, in text and in documents."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest
from starlette.types import ASGIApp

from compare.running import lines, run
from streamres.carriers import Carrier, Reach, Seen, Source
from streamres.carriers.content import Change, Kind, Value
from streamres.carriers.final_only import FinalOnly
from streamres.carriers.progress_message import ProgressMessage
from streamres.carriers.reread import Reread
from streamres.carriers.sep_2998 import Sep2998
from streamres.carriers.sep_3119 import Sep3119
from streamres.carriers.sr_push import SrPush
from streamres.compare import WORKS, Verdict

AT = 10


class Told(Source):
    """A source that a carrier's server sees through a plant."""

    def __init__(self, source: Source) -> None:
        self.__dict__ = source.__dict__

    @property
    def at(self) -> int:
        """At which change something goes wrong: one that matters twice, in a document a note that is added."""
        if self.kind == "text":
            return AT
        return next(at for at, change in enumerate(self._changes, 1) if at >= AT and "/-" in str(change))


class Twice(Told):
    """A change is told twice, the second time as the next, and all that follow are numbered on."""

    async def changes(self, seen: int = 0) -> AsyncIterator[tuple[int, Change]]:
        late = 0
        async for count, change in super().changes(seen):
            yield count + late, change
            if count == self.at:
                late = 1
                yield count + late, change

    def value_at(self, count: int) -> Value:
        return super().value_at(min(count, self.count))


class OffByOne(Told):
    """From some change on, the numbers are one too low: one number is used twice."""

    async def changes(self, seen: int = 0) -> AsyncIterator[tuple[int, Change]]:
        async for count, change in super().changes(seen):
            yield count - (count > self.at), change


class LeftOut(Told):
    """A change is not told, and those that follow are numbered as if it had never been."""

    async def changes(self, seen: int = 0) -> AsyncIterator[tuple[int, Change]]:
        async for count, change in super().changes(seen):
            if count != self.at:
                yield count - (count > self.at), change


class Swapped(Told):
    """Two changes are told in the wrong order."""

    async def changes(self, seen: int = 0) -> AsyncIterator[tuple[int, Change]]:
        first: Change | None = None
        async for count, change in super().changes(seen):
            if count == self.at:
                first = change
                continue
            yield count - (first is not None), change
            if first is not None:
                yield count, first
                first = None


class NotFlushed(Told):
    """The last change is never told of."""

    async def more(self, seen: int) -> bool:
        return seen + 1 < len(self._changes) and await super().more(seen)


class Plant:
    """The server of a carrier, over a planted source; its final result, where it has one, is the true one."""

    plant: type[Told]

    def serve(self, source: Source) -> AbstractAsyncContextManager[ASGIApp]:
        return super().serve(self.plant(source))  # type: ignore[misc,no-any-return]


class TwiceInPartials(Plant, Sep2998):
    plant = Twice


class OffByOneInPartials(Plant, Sep2998):
    plant = OffByOne


class LeftOutOfPartials(Plant, Sep2998):
    plant = LeftOut


class SwappedInPartials(Plant, Sep2998):
    plant = Swapped


class TwiceInProgress(Plant, ProgressMessage):
    plant = Twice


class SwappedInProgress(Plant, ProgressMessage):
    plant = Swapped


class NotFlushedToReaders(Plant, Reread):
    plant = NotFlushed


class NotFlushedToViewers(Plant, Sep3119):
    plant = NotFlushed


class TwiceInTheCopy(SrPush):
    """A reader that takes one delta twice, behind the back of what checks it."""

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        before, extra, number = "", "", 0
        async with contextlib.aclosing(super().read(reach, kind)) as seeing:
            async for seen in seeing:
                number += 1
                if number == AT:
                    extra = seen.value[len(before) :]
                at = len(before) + len(extra) if number == AT else None
                before = seen.value
                cut = at or len(before)
                yield Seen(before[:cut] + extra + before[cut:] if number == AT else before + extra)


class GoesBack(Sep3119):
    """A reader that shows an old content once more."""

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        shown: list[Seen] = []
        async with contextlib.aclosing(super().read(reach, kind)) as seeing:
            async for seen in seeing:
                shown.append(seen)
                yield shown[-3] if len(shown) == AT else seen


class SaysNothing(FinalOnly):
    """A reader whose call was cut, and who takes that for an empty result."""

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        async with contextlib.aclosing(super().read(reach, kind)) as seeing:
            async for seen in seeing:
                yield Seen("") if seen.lost else seen


def verdict_of(carrier: Carrier, work_id: str, fault: str) -> Verdict:
    work = lines() if work_id == "lines" else WORKS[work_id](1)
    (cell,) = run(carrier, work, fault)
    assert cell.verdict is not None
    return cell.verdict


@pytest.mark.parametrize(
    ("carrier", "word", "flaw"),
    [
        (TwiceInPartials(), "corrected", "doubled"),
        (OffByOneInPartials(), "corrected", "lost"),
        (LeftOutOfPartials(), "corrected", "lost"),
        (SwappedInPartials(), "corrected", "disordered"),
        (TwiceInProgress(), "corrected", "doubled"),
        (SwappedInProgress(), "corrected", "disordered"),
        (TwiceInTheCopy(), "doubled", "doubled"),
        (GoesBack(), "corrected", "disordered"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "traits") else str(value),
)
def test_what_a_carrier_does_wrong_in_a_text_is_seen(carrier: Carrier, word: str, flaw: str) -> None:
    verdict = verdict_of(carrier, "lines", "none")

    assert verdict.word == word
    assert flaw in verdict.during


@pytest.mark.parametrize(
    ("carrier", "flaw"),
    [(TwiceInPartials(), "doubled"), (LeftOutOfPartials(), "lost"), (SwappedInPartials(), "lost")],
    ids=["twice", "left out", "swapped"],
)
def test_what_a_carrier_does_wrong_in_a_document_is_seen(carrier: Carrier, flaw: str) -> None:
    verdict = verdict_of(carrier, "stages", "none")

    assert verdict.word != "exact"
    assert flaw in verdict.during


@pytest.mark.parametrize("carrier", [NotFlushedToReaders(), NotFlushedToViewers()], ids=["reread", "sep-3119"])
@pytest.mark.parametrize("work_id", ["lines", "stages"])
def test_a_last_change_that_is_not_flushed_is_lost(carrier: Carrier, work_id: str) -> None:
    assert verdict_of(carrier, work_id, "none").word == "lost, silent"


def test_a_loss_that_a_reader_does_not_tell_is_silent() -> None:
    assert verdict_of(FinalOnly(), "lines", "cut").word == "lost, said"
    assert verdict_of(SaysNothing(), "lines", "cut").word == "lost, silent"


class Breaks(FinalOnly):
    """A carrier whose reader fails."""

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        yield Seen("")
        raise ValueError("no such thing")


def test_a_carrier_that_breaks_is_one_failed_cell() -> None:
    (cell,) = run(Breaks(), lines(), "none", fails=True)

    assert cell.verdict is None
    assert cell.error == "ValueError: no such thing"
