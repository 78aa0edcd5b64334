"""What a carrier claims, its run shows; and what it does not claim, it is seen not to have."""

from __future__ import annotations

import pytest

from compare.running import lines, run
from streamres.carriers import Carrier, carriers
from streamres.compare import WORKS, Verdict

each = pytest.mark.parametrize("carrier", carriers().values(), ids=lambda carrier: carrier.id)


def verdict(carrier: Carrier, fault: str) -> Verdict:
    (cell,) = run(carrier, lines(), fault)
    assert cell.verdict is not None
    return cell.verdict


@each
def test_with_nothing_wrong_the_content_comes_as_it_is(carrier: Carrier) -> None:
    for work in (lines(), WORKS["stages"](1)):
        (cell,) = run(carrier, work, "none")

        assert cell.verdict is not None
        assert (cell.verdict.word, cell.verdict.during) == ("exact", ())
        assert cell.verdict.seen == len(work.changes)
        assert len(cell.verdict.staleness_s) == len(work.changes)


@each
def test_what_claims_replay_survives_a_cut_and_what_does_not_loses(carrier: Carrier) -> None:
    word = verdict(carrier, "cut").word

    assert word == ("lost, said" if carrier.traits.replay == "no" else "exact")


@each
def test_what_claims_replay_survives_a_restart_and_what_does_not_loses(carrier: Carrier) -> None:
    word = verdict(carrier, "restart").word

    assert word == ("lost, said" if carrier.traits.replay == "no" else "exact")


@each
def test_a_late_reader_has_what_there_was_where_that_is_claimed_and_else_nothing(carrier: Carrier) -> None:
    late = verdict(carrier, "late")

    assert (late.word, late.seen) == (("exact", 24) if carrier.traits.late_joiner else ("lost, said", 0))


@each
def test_order_is_kept_where_it_is_claimed_and_else_lost(carrier: Carrier) -> None:
    assert ("disordered" in verdict(carrier, "reordered").during) == (not carrier.traits.ordered)


@each
def test_a_gap_is_seen_where_that_is_claimed_and_else_is_not(carrier: Carrier) -> None:
    dropped = verdict(carrier, "dropped")

    silent = dropped.word == "lost, silent" or ("lost" in dropped.during and not dropped.said)
    assert silent == (not carrier.traits.gap_seen)


@each
def test_the_same_message_twice_is_nothing_new(carrier: Carrier) -> None:
    assert verdict(carrier, "doubled").word == "exact"


@pytest.mark.parametrize("name", ["sr-push", "sep-2998", "sr-notify"])
def test_as_time_goes_the_content_comes_too(name: str) -> None:
    (cell,) = run(carriers()[name], lines(), "none", speed=8.0)

    assert cell.verdict is not None
    assert cell.verdict.word == "exact"
