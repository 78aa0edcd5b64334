"""What is known of costs beforehand, the comparison shows; and how little of them is its own."""

from __future__ import annotations

import anyio
from requirement import requirement

from compare.running import LOOP, lines, run
from streamres.carriers import carriers
from streamres.compare import WORKS, Work, measure


def bytes_down(name: str, work: Work) -> int:
    (cell,) = run(carriers()[name], work, "none")
    return cell.meter.bytes_down


@requirement("K2")
def test_pushed_deltas_cost_little_more_than_what_they_carry() -> None:
    work = WORKS["build-log"](1)

    assert bytes_down("sr-push", work) <= 1.15 * work.payload_bytes + 250 * len(work.changes)


def test_reading_all_of_it_each_time_costs_the_square() -> None:
    once, twice = lines(20, size=2000), lines(40, size=2000)

    assert 3.5 < bytes_down("reread", twice) / bytes_down("reread", once) < 4.5
    assert 1.8 < bytes_down("sr-push", twice) / bytes_down("sr-push", once) < 2.2


def test_what_the_comparison_itself_costs_is_measured() -> None:
    overhead = anyio.run(measure, backend_options=LOOP)

    assert 0 < overhead.change_ms < 1000
    assert -1 < overhead.proxy_ms < 100
