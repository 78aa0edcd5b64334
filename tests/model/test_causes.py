"""What led to a delta: the causes of the revisions that it merges, each once, oldest first (SR-8.4.a)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from requirement import requirement

from streamres.errors import DeltaError, LimitExceeded, StreamresError
from streamres.model import MAX_CAUSE_CHARS, AppendNumber, Position, ResourceLog

from .histories import FIRST_EPOCH, URI, shown


def log_of(*appends: tuple[bytes, str | None]) -> ResourceLog:
    log = ResourceLog(URI, epoch=FIRST_EPOCH)
    for data, cause in appends:
        log.commit(data, cause=cause)
    return log


START = Position(FIRST_EPOCH, 0, 0)


@requirement("SR-8.4.a")
def test_a_delta_names_each_cause_of_what_it_merges_once_and_the_oldest_first() -> None:
    log = log_of((b"a", "first"), (b"b", None), (b"c", "second"), (b"d", "second"), (b"e", "first"), (b"f", None))

    causes = [log.read(Position(FIRST_EPOCH, n, n)).causes for n in range(7)]

    both = ("first", "second")
    assert causes == [both, ("second", "first"), ("second", "first"), ("second", "first"), ("first",), (), ()]


@requirement("SR-8.4.a")
def test_a_delta_that_stops_early_names_what_led_to_it_alone() -> None:
    log = log_of((b"ab", "first"), (b"cd", "second"), (b"ef", "third"))

    pages = []
    since, more = START, True
    while more:
        reading = log.read(since, max_bytes=3)
        pages.append((shown(reading.step), reading.causes))
        since, more = reading.step.stop, reading.more

    # To half of a revision led what led to all of it.
    assert pages == [(b"abc", ("first", "second")), (b"def", ("second", "third"))]


@requirement("SR-8.4.a")
def test_a_snapshot_an_empty_delta_and_what_was_given_no_cause_have_none() -> None:
    log = log_of((b"a", "first"))
    told = log.head.position

    assert log.read().causes == ()
    assert log.read(told).causes == ()
    assert log.read(Position(FIRST_EPOCH + 1, 0, 0)).causes == ()
    log.commit(b"", cause="nothing came of it")
    log.commit(b"b")
    assert log.read(told).causes == ()
    assert log.read(START).causes == ("first",)


@requirement("SR-8.4.a")
def test_a_seal_has_a_cause_with_and_without_content() -> None:
    for data in (b"", b"b"):
        log = log_of((b"a", None))
        told = log.head.position

        log.commit(data, seal="aborted", cause="stop")
        log.commit(b"", seal="aborted", cause="stop again")

        assert log.read(told).causes == ("stop",)


@requirement("SR-8.4.a")
@requirement("SR-9.3.b")
def test_a_numbered_repeat_keeps_the_cause_of_the_first_time() -> None:
    log = log_of()
    number = AppendNumber(producer="p", epoch=1, seq=0)

    heads = [log.commit(b"a", number=number, cause=cause) for cause in ("first", "second", None)]

    assert heads == [log.head] * 3
    assert log.read(START).causes == ("first",)


@requirement("M3")
@pytest.mark.parametrize(
    ("cause", "error"),
    [("c" * (MAX_CAUSE_CHARS + 1), LimitExceeded), ("", DeltaError), ("a\ud800", DeltaError)],
    ids=["too long", "empty", "no Unicode"],
)
def test_what_names_no_input_is_refused_and_changes_nothing(cause: str, error: type[StreamresError]) -> None:
    log = log_of((b"a", "first"))
    before = log.head

    with pytest.raises(error) as caught:
        log.commit(b"b", seal="complete", number=AppendNumber(producer="p", epoch=1, seq=0), cause=cause)

    assert log.head is before
    assert log.producers.standing("p") is None
    assert (log.read(START).causes, shown(log.read(START).step)) == (("first",), b"a")
    if isinstance(caught.value, LimitExceeded):
        assert (caught.value.limit, caught.value.value) == ("cause_chars", 256)


def test_the_longest_cause_is_kept_as_it_is() -> None:
    longest = "😀" * MAX_CAUSE_CHARS

    assert log_of((b"a", longest)).read(START).causes == (longest,)


@requirement("SR-3.5")
@requirement("SR-2.4")
def test_with_history_its_causes_are_forgotten() -> None:
    log = log_of(*((b"%d" % (n % 10), f"c{n}") for n in range(100)))
    whole = log.causes.size

    log.compact(90)
    assert [run.cause for run in log.causes.runs] == [f"c{n}" for n in range(89, 100)]
    assert 0 < log.causes.size < whole // 8
    assert log.read(Position(FIRST_EPOCH, 95, 95)).causes == ("c95", "c96", "c97", "c98", "c99")

    log.replace(b"new", epoch=FIRST_EPOCH + 1)
    log.commit(b"a", cause="after")
    assert [run.cause for run in log.causes.runs] == ["after"]
    assert log.read(Position(FIRST_EPOCH + 1, 0, 3)).causes == ("after",)


@requirement("SR-8.4.a")
@requirement("SR-2.5")
def test_a_patch_that_leads_further_for_a_plain_reader_names_what_led_there() -> None:
    log = ResourceLog(URI, epoch=FIRST_EPOCH, kind="json", content=b'{"text":""}')
    for word in ("one", "two", "three"):
        log.commit(b'[{"op":"append","path":"/text","value":"%s"}]' % word.encode(), cause=word)

    plain, able = (log.read(START, max_bytes=1, append_op=append_op) for append_op in (False, True))

    assert (plain.step.stop.revision, plain.causes) == (3, ("one", "two", "three"))
    assert (able.step.stop.revision, able.causes) == (1, ("one",))


APPENDS = st.lists(
    st.tuples(st.binary(min_size=1, max_size=4), st.sampled_from([None, "a", "b", "c"])), max_size=12
)


@requirement("SR-8.4.a")
@given(appends=APPENDS, floor=st.integers(0, 12), data=st.data())
def test_whatever_was_appended_the_causes_are_those_of_the_bytes_that_are_given(
    appends: list[tuple[bytes, str | None]], floor: int, data: st.DataObject
) -> None:
    log = ResourceLog(URI, epoch=FIRST_EPOCH, kind="blob")
    of_byte: list[str | None] = []
    for piece, cause in appends:
        log.commit(piece, cause=cause)
        of_byte += [cause] * len(piece)
    log.compact(floor)
    begin = data.draw(st.integers(log.floor.length, len(of_byte)))
    since = Position(FIRST_EPOCH, log.revisions.reaching(begin), begin)

    reading = log.read(since, max_bytes=data.draw(st.integers(1, 50)))

    end = reading.step.stop.length
    assert reading.causes == tuple(dict.fromkeys(cause for cause in of_byte[begin:end] if cause is not None))
