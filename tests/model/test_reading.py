from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

import pytest
from requirement import requirement

from streamres.model import Append, Position, Seal, Snapshot

from .histories import FIRST_EPOCH, new_log, shown


def digest_of(data: bytes) -> str:
    return f"sha-256=:{b64encode(sha256(data).digest()).decode()}:"


@requirement("SR-5.3")
def test_up_to_date_and_ended_differ_by_the_state_alone() -> None:
    log = new_log(b"a")
    running = log.read(log.head.position)
    log.commit(b"", seal="complete")

    ended = log.read(log.head.position)

    for reading, state in ((running, "open"), (ended, "complete")):
        assert isinstance(reading.step, Append)
        assert reading.step.start == reading.step.stop
        assert (shown(reading.step), reading.state, reading.more) == (b"", state, False)


@requirement("SR-5.3")
def test_a_seal_without_text_reaches_the_reader_that_has_all_the_text() -> None:
    log = new_log(b"a")
    last = log.head.position
    log.commit(b"", seal="aborted")

    reading = log.read(last, max_bytes=1)

    assert isinstance(reading.step, Append)
    assert (reading.step.start, reading.step.stop) == (last, log.head.position)
    assert (shown(reading.step), reading.state, reading.digest) == (b"", "aborted", digest_of(b"a"))


@requirement("SR-5.5")
@pytest.mark.parametrize(
    ("since", "reset"),
    [
        (Position(FIRST_EPOCH, 1, 1), "expired"),
        (Position(FIRST_EPOCH + 1, 3, 3), "epoch"),
        (Position(FIRST_EPOCH - 1, 3, 3), "epoch"),
        (Position(FIRST_EPOCH, 4, 4), "ahead"),
        (Position(FIRST_EPOCH, 3, 99), "epoch"),
        (Position(FIRST_EPOCH, 3, 2), "epoch"),
    ],
    ids=["below the floor", "a later life", "an earlier life", "beyond the head", "longer", "another revision's"],
)
def test_a_cursor_that_cannot_be_served_gets_a_snapshot_that_can_be_continued(since: Position, reset: str) -> None:
    log = new_log(b"a", b"b", b"c")
    log.compact(2)

    reading = log.read(since)
    log.commit(b"d")

    assert (type(reading.step), reading.reset, shown(reading.step)) == (Snapshot, reset, b"abc")
    following = log.read(reading.step.stop)
    assert (following.reset, shown(following.step)) == (None, b"d")


@requirement("SR-4.5")
@pytest.mark.parametrize("floor", [3, 4, 10**9])
@pytest.mark.parametrize("seal", [None, "complete"], ids=["open", "sealed"])
def test_the_cursor_of_the_head_outlives_every_compaction(floor: int, seal: Seal | None) -> None:
    log = new_log(b"a", b"b")
    log.commit(b"c", seal=seal)
    head = log.head

    log.compact(floor)

    assert log.floor == log.head.position == head.position
    assert isinstance(log.read(head.position).step, Append)
    if seal is None:
        log.commit(b"d")
        assert shown(log.read(head.position).step) == b"d"


@requirement("SR-5.5")
@requirement("M5")
def test_a_position_inside_a_revision_is_continued_from_code_points_only() -> None:
    log = new_log(b"ab", "é😀c".encode())

    readings = {length: log.read(Position(FIRST_EPOCH, 2, length)) for length in range(10)}

    deltas = {length: shown(reading.step).decode() for length, reading in readings.items() if not reading.reset}
    assert deltas == {4: "😀c", 8: "c", 9: ""}
    assert {reading.reset for length, reading in readings.items() if length not in deltas} == {"epoch"}


@requirement("SR-3.6")
@requirement("SR-5.7")
def test_a_page_ends_inside_a_revision_and_is_continued_from_there_while_the_text_grows() -> None:
    log = new_log(b"ab", b"cdefgh")

    page = log.read(max_bytes=5)
    log.commit(b"i")

    rest = log.read(page.step.stop)
    assert (shown(page.step), page.more, page.step.stop) == (b"abcde", True, Position(FIRST_EPOCH, 2, 5))
    assert (shown(rest.step), rest.more, rest.reset) == (b"fghi", False, None)


@requirement("SR-5.7")
@pytest.mark.parametrize(
    ("max_bytes", "expected"), [(0, "é"), (1, "é"), (2, "é"), (5, "é"), (6, "é😀"), (7, "é😀!"), (99, "é😀!")]
)
def test_a_page_holds_the_code_points_that_fit_and_at_least_one(max_bytes: int, expected: str) -> None:
    log = new_log("é😀!".encode())

    reading = log.read(max_bytes=max_bytes)

    assert shown(reading.step).decode() == expected
    assert reading.more == (expected != "é😀!")


@requirement("SR-5.11")
@requirement("SR-5.7")
def test_only_the_last_page_of_a_sealed_resource_is_sealed() -> None:
    log = new_log(b"ab")
    log.commit(b"cd", seal="complete")

    first = log.read(max_bytes=2)
    last = log.read(first.step.stop, max_bytes=2)

    assert (first.state, first.digest, first.more) == ("open", None, True)
    assert (last.state, last.digest, last.more) == ("complete", log.head.digest, False)


@requirement("SR-5.8")
@pytest.mark.parametrize(
    ("tail_bytes", "begin"),
    [(0, 12), (3, 9), (4, 8), (5, 8), (9, 4), (12, 0), (99, 0)],
    ids=lambda value: f"{value}",
)
def test_a_tail_begins_at_a_line_start_where_one_is_in_reach(tail_bytes: int, begin: int) -> None:
    text = b"one\ntwo\nlast"
    log = new_log(text)

    step = log.read(tail_bytes=tail_bytes).step

    assert isinstance(step, Snapshot)
    assert (step.begin, step.stop) == (begin, log.head.position)
    assert shown(step) == text[begin:]


@requirement("SR-5.8")
@pytest.mark.parametrize("text", ["aaaaaa😀", "😀"], ids=["after other text", "the whole text"])
def test_a_tail_that_is_less_than_its_code_point_begins_before_it(text: str) -> None:
    assert shown(new_log(text.encode()).read(tail_bytes=3).step).decode() == "😀"


@requirement("SR-5.8")
def test_a_tail_is_no_part_of_a_read_since_nor_of_a_reset() -> None:
    log = new_log(b"one\n", b"two\n", b"three\n")

    since = log.read(Position(FIRST_EPOCH, 1, 4), tail_bytes=1)
    reset = log.read(Position(0, 1, 4), tail_bytes=1)

    assert shown(since.step) == b"two\nthree\n"
    assert shown(reset.step) == b"one\ntwo\nthree\n"


@requirement("SR-5.8")
def test_a_tail_in_pages_is_followed_to_the_head() -> None:
    log = new_log(b"one\ntwo\nthree\n")

    first = log.read(tail_bytes=11, max_bytes=4)
    rest = log.read(first.step.stop)

    assert (shown(first.step), first.more) == (b"two\n", True)
    assert shown(rest.step) == b"three\n"
