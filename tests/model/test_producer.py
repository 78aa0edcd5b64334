from __future__ import annotations

import pytest
from requirement import requirement

from streamres.errors import LimitExceeded, ProducerConflict, ProducerFenced, ProducerGap
from streamres.model import AppendNumber, Seal
from streamres.model.producer import WINDOW

from .histories import new_log, shown


def number(seq: int, *, producer: str = "p", epoch: int = 1) -> AppendNumber:
    return AppendNumber(producer=producer, epoch=epoch, seq=seq)


@requirement("SR-9.1")
def test_a_repeat_is_acknowledged_with_the_first_head_and_changes_nothing() -> None:
    log = new_log()
    first = log.commit(b"a", number=number(0))
    last = log.commit(b"b", number=number(1))

    assert log.commit(b"a", number=number(0)) == first
    assert log.commit(b"b", number=number(1)) == last
    assert log.head is last
    assert shown(log.read().step) == b"ab"


@requirement("SR-9.1")
def test_equal_text_under_the_next_number_is_another_append() -> None:
    log = new_log()

    for seq in range(3):
        log.commit(b"same line\n", number=number(seq))

    assert shown(log.read().step) == b"same line\n" * 3


@requirement("SR-9.1")
@pytest.mark.parametrize(
    ("data", "seal"),
    [(b"b", None), (b"", None), (b"a", "complete"), (b"a\xff", None)],
    ids=["other bytes", "no bytes", "a seal too", "bytes that are no text"],
)
def test_a_repeat_with_other_content_is_a_conflict(data: bytes, seal: Seal | None) -> None:
    log = new_log()
    head = log.commit(b"a", number=number(0))

    with pytest.raises(ProducerConflict) as caught:
        log.commit(data, seal=seal, number=number(0))

    assert (caught.value.seq, caught.value.expected) == (0, 1)
    assert log.head is head


@requirement("SR-9.1")
def test_text_that_spells_a_seal_is_not_the_seal() -> None:
    log = new_log()
    log.commit(b"complete", number=number(0))

    with pytest.raises(ProducerConflict):
        log.commit(b"", seal="complete", number=number(0))

    assert log.head.state == "open"


@requirement("SR-9.1")
def test_a_gap_is_refused_with_the_number_expected() -> None:
    log = new_log()
    log.commit(b"a", number=number(0))

    with pytest.raises(ProducerGap) as caught:
        log.commit(b"c", number=number(2))

    assert (caught.value.seq, caught.value.expected) == (2, 1)
    log.commit(b"b", number=number(caught.value.expected))
    assert shown(log.read().step) == b"ab"


@requirement("SR-9.1")
def test_the_first_number_is_0_in_each_epoch_of_a_producer() -> None:
    log = new_log()

    with pytest.raises(ProducerGap) as at_first:
        log.commit(b"x", number=number(1))
    log.commit(b"a", number=number(0))
    with pytest.raises(ProducerGap) as restarted:
        log.commit(b"x", number=number(1, epoch=2))
    log.commit(b"b", number=number(0, epoch=2))

    assert (at_first.value.expected, restarted.value.expected) == (0, 0)
    assert shown(log.read().step) == b"ab"


@requirement("SR-9.1")
def test_a_newer_epoch_fences_the_older_off_for_repeats_too() -> None:
    log = new_log()
    log.commit(b"a", number=number(0, epoch=3))
    head = log.commit(b"b", number=number(0, epoch=7))

    for seq, data in ((0, b"a"), (1, b"c")):
        with pytest.raises(ProducerFenced) as caught:
            log.commit(data, number=number(seq, epoch=3))
        assert (caught.value.epoch, caught.value.current) == (3, 7)

    assert log.head is head


@requirement("SR-9.1")
def test_the_numbers_of_one_producer_say_nothing_of_another() -> None:
    log = new_log()

    log.commit(b"a", number=number(0))
    log.commit(b"b", number=number(0, producer="q", epoch=9))
    log.commit(b"c", number=number(1))

    assert shown(log.read().step) == b"abc"


@requirement("SR-9.1")
def test_a_repeat_is_known_for_a_window_of_appends_and_then_a_conflict() -> None:
    log = new_log()
    heads = [log.commit(b"%d\n" % seq, number=number(seq)) for seq in range(WINDOW + 1)]

    assert log.commit(b"1\n", number=number(1)) == heads[1]
    with pytest.raises(ProducerConflict):
        log.commit(b"0\n", number=number(0))

    assert log.head is heads[-1]


@requirement("SR-9.1")
@requirement("SR-9.3")
def test_a_repeat_is_acknowledged_after_the_seal_and_after_compaction() -> None:
    log = new_log()
    first = log.commit(b"a", number=number(0))
    last = log.commit(b"b", seal="complete", number=number(1))
    log.compact(2)

    assert log.commit(b"a", number=number(0)) == first
    assert log.commit(b"b", seal="complete", number=number(1)) == last
    assert log.head is last


@requirement("SR-9.1")
@requirement("SR-2.4")
def test_numbers_go_on_after_the_content_was_replaced() -> None:
    log = new_log()
    first = log.commit(b"a", number=number(0))
    log.replace(b"new ", epoch=2)

    assert log.commit(b"a", number=number(0)) == first
    log.commit(b"b", number=number(1))

    assert shown(log.read().step) == b"new b"


@requirement("SR-9.1")
@requirement("SR-9.2")
def test_a_repeat_is_acknowledged_though_the_revision_it_demanded_is_past() -> None:
    log = new_log()
    first = log.commit(b"a", number=number(0), expected_revision=0)
    log.commit(b"b")

    assert log.commit(b"a", number=number(0), expected_revision=0) == first


@requirement("SR-9.1")
def test_a_numbered_append_of_nothing_uses_its_number_and_is_no_revision() -> None:
    log = new_log(b"a")

    head = log.commit(b"", number=number(0))

    assert head.position.revision == 1
    with pytest.raises(ProducerConflict):
        log.commit(b"x", number=number(0))
    assert log.commit(b"b", number=number(1)).position.revision == 2


@requirement("SR-12.3")
def test_one_producer_too_many_is_refused_while_the_others_go_on() -> None:
    log = new_log(max_producers=2)
    log.commit(b"a", number=number(0))
    log.commit(b"b", number=number(0, producer="q"))

    with pytest.raises(LimitExceeded) as caught:
        log.commit(b"x", number=number(0, producer="r"))

    assert (caught.value.limit, caught.value.value) == ("producers", 2)
    log.commit(b"c", number=number(1))
    log.commit(b"d", number=number(0, producer="q", epoch=2))
    assert shown(log.read().step) == b"abcd"
