"""The order of partials, without a network: whatever comes, nothing is out of order, and no loss is silent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from requirement import requirement

from streamres.bridge.order import GAPS_KEPT, Gap, Order

NUMBERS = st.integers(min_value=1, max_value=40)


@requirement("SR-11.2.a")
@given(count=NUMBERS, order=st.randoms(use_true_random=False), repeats=st.lists(st.integers(0, 39), max_size=20))
def test_any_shuffle_with_repeats_comes_out_in_order_once(count: int, order: object, repeats: list[int]) -> None:
    coming = [*range(count), *(number % count for number in repeats)]
    order.shuffle(coming)  # type: ignore[attr-defined]
    given_to = Order[int](window=len(coming))

    out = [number for coming_one in coming for number in given_to.take(coming_one, coming_one)]

    assert out == list(range(count))
    assert (given_to.gaps, given_to.missing, given_to.waits) == ([], 0, False)
    assert given_to.repeats == len(repeats)


@requirement("SR-11.2.b")
@given(
    lost=st.sets(st.integers(0, 39), max_size=39),
    window=st.integers(0, 5),
    order=st.randoms(use_true_random=False),
)
def test_whatever_is_lost_is_recorded_and_what_came_is_in_order_or_late(
    lost: set[int], window: int, order: object
) -> None:
    coming = [number for number in range(41) if number not in lost]
    order.shuffle(coming)  # type: ignore[attr-defined]
    given_to = Order[int](window)

    out = [number for coming_one in coming for number in given_to.take(coming_one, coming_one)]
    while given_to.waits:
        out += given_to.give_up()

    assert out == sorted(out)
    assert len(out) + given_to.late == len(coming)
    gone = {number for gap in given_to.gaps for number in range(gap.first, gap.last + 1)}
    assert given_to.missing == len(gone)
    assert gone == set(range(given_to.next)) - set(out)
    assert lost & set(range(given_to.next)) <= gone
    assert given_to.repeats == 0


@requirement("SR-11.2.b")
def test_no_more_wait_than_the_window_holds() -> None:
    order = Order[str](window=2)

    assert order.take(0, "a") == ["a"]
    assert order.take(2, "c") == []
    assert order.take(3, "d") == []
    assert order.take(5, "f") == ["c", "d"]

    assert (order.gaps, order.waits, order.next) == ([Gap(1, 1)], True, 4)
    assert order.take(1, "b") == []
    assert order.late == 1


def test_a_number_beyond_all_bounds_costs_nothing() -> None:
    order = Order[str](window=0)

    assert order.take(10**18, "x") == ["x"]
    assert (order.missing, order.gaps) == (10**18, [Gap(0, 10**18 - 1)])
    for number in range(2, 1_000, 2):
        order.take(10**18 + number, "y")
    assert len(order.gaps) == GAPS_KEPT
    assert order.missing == 10**18 + 499
