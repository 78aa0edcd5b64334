"""The judge, by reports written by hand: what it says of each, and that it believes nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from requirement import requirement

from compare.running import lines
from streamres.carriers import Seen
from streamres.carriers.content import Append
from streamres.compare import WORKS, Verdict, Work, judge
from streamres.compare.timeline import Committed, Joined, Shown, Timeline

WORK = lines(8)
PIECES = [change.data for change in WORK.changes if isinstance(change, Append)]


def told(work: Work, copies: Sequence[Any], **last: bool) -> Verdict:
    """One copy after each change, a tenth of a second later; None where nothing came."""
    timeline = Timeline()
    timeline.entries.append(Joined(0.0))
    for count, copy in enumerate(copies, 1):
        if count <= len(work.changes):
            timeline.entries.append(Committed(count, float(count), 0))
        if copy is not None:
            seen = Seen(copy, **last) if count == len(copies) else Seen(copy)
            timeline.entries.append(Shown(seen, count + 0.1, 0))
    return judge(work, timeline)


def pieces(*numbers: int) -> str:
    return "".join(PIECES[number] for number in numbers)


def growing(order: Sequence[int]) -> list[str]:
    return [pieces(*order[:count]) for count in range(1, len(order) + 1)]


@requirement("K3")
@pytest.mark.parametrize(
    ("order", "word"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], "exact"),
        ([0, 1, 2, 4, 5, 6, 7], "lost, silent"),
        ([0, 1, 1, 2, 3, 4, 5, 6, 7], "doubled"),
        ([0, 1, 3, 2, 4, 5, 6, 7], "disordered"),
        ([0, 1, 2, 3, 4, 5, 6], "lost, silent"),
        ([0, 1, 3, 3, 4, 5, 6, 7], "lost, silent"),
    ],
    ids=["all", "one left out", "one twice", "two swapped", "the last left out", "one in place of another"],
)
def test_a_text_is_judged_by_the_changes_in_it(order: list[int], word: str) -> None:
    # As a reader has it: never a change that was not made yet.
    copies = [pieces(*[number for number in order if number < count]) for count in range(1, len(PIECES))]
    copies.append(pieces(*order))

    assert told(WORK, copies).word == word


def test_what_no_change_brought_is_wrong() -> None:
    copies = [*growing(range(7)), pieces(*range(7)) + "?" * len(PIECES[7])]

    assert told(WORK, copies).word == "wrong"


def test_a_loss_that_is_said_is_told_from_one_that_is_not() -> None:
    copies = growing([0, 1, 2, 4, 5, 6, 7])

    assert told(WORK, [None, *copies]).word == "lost, silent"
    assert told(WORK, [None, *copies], lost=True).word == "lost, said"


def test_what_is_put_right_at_the_end_was_not_right_before() -> None:
    copies = [*growing([0, 1]), pieces(0, 1), pieces(0, 1, 3), *growing(range(8))[4:]]

    verdict = told(WORK, copies)

    assert (verdict.word, verdict.during) == ("corrected", ("lost",))


def test_a_copy_that_is_behind_is_not_wrong_but_stale() -> None:
    copies = [None] * 7 + [pieces(*range(8))]

    verdict = told(WORK, copies)

    assert (verdict.word, verdict.during) == ("exact", ())
    assert verdict.staleness_s == pytest.approx([0.1 + behind for behind in range(8)])
    assert verdict.first_s == pytest.approx(7.1)


def test_an_older_content_after_a_newer_one_is_disorder() -> None:
    copies = [*growing(range(6)), pieces(*range(4)), pieces(*range(8))]

    verdict = told(WORK, copies)

    assert (verdict.word, verdict.during) == ("corrected", ("disordered",))


def test_what_is_not_made_yet_cannot_be_in_a_copy() -> None:
    dots = Work(
        id="dots", title="", kind="text", changes=[Append(".")] * 5, at=[1.0, 2.0, 3.0, 4.0, 5.0], end_at=6.0
    )

    verdict = told(dots, [".", "...", "...", "....", "....."])

    assert (verdict.word, verdict.during) == ("corrected", ("doubled",))


def test_nothing_at_all_is_a_loss() -> None:
    assert told(WORK, [None] * 8).word == "lost, silent"


@pytest.mark.parametrize("seed", range(30))
def test_a_document_is_judged_by_its_versions(seed: int) -> None:
    work = WORKS["stages"](seed)
    copies: list[Any] = list(work.values[1:])
    random = Random(seed)
    stale = random.randrange(1, len(copies))
    copies[stale] = copies[stale - 1]

    assert told(work, copies).word == ("exact" if stale < len(copies) - 1 else "lost, silent"), seed
    copies[stale] = {**work.values[stale], "state": "?"}
    assert "wrong" in told(work, copies).during, seed


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_done_to_a_text_is_not_called_exact(seed: int) -> None:
    random = Random(seed)
    order = list(range(8))
    at = random.randrange(7)
    match seed % 4:
        case 0:
            del order[at]
        case 1:
            order.insert(random.randrange(8), at)
        case 2:
            order[at], order[at + 1] = order[at + 1], order[at]
        case _:
            order = order[: at + 1]
    copies: list[Any] = [None] * 7 + [pieces(*order)]

    assert told(WORK, copies).word not in ("exact", "corrected"), seed


def test_recovery_is_from_the_fault_to_the_first_copy_that_is_new_again() -> None:
    timeline = Timeline()
    for count in range(1, 9):
        timeline.entries.append(Committed(count, float(count), 100 * count))
        if count not in (3, 4):
            timeline.entries.append(Shown(Seen(pieces(*range(count))), count + 0.25, 100 * count + 7))

    verdict = judge(WORK, timeline, [3])

    assert verdict.recovery_s == pytest.approx(2.25)
    assert verdict.recovery_bytes == 207
