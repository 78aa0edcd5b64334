from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from requirement import requirement

from streamres.model import decode_cursor

from .histories import URI, new_log
from .reader import Reader, answer_of, appended, ask, known, reader_of

if TYPE_CHECKING:
    from streamres.model import Update


@requirement("M7")
def test_deltas_in_order_are_applied_once_each() -> None:
    log = new_log("é".encode())
    reader = reader_of(log)

    outcomes = [reader.take(appended(log, text)) for text in ("a\r", "\n", "😀", "\0")]

    assert outcomes == ["applied"] * 4
    assert reader.text == "éa\r\n😀\0"


@requirement("M7")
def test_before_the_first_snapshot_every_delta_is_a_gap() -> None:
    log = new_log()
    reader = Reader(URI)

    assert reader.take(appended(log, "a")) == "gap"
    assert known(reader) == ("", None, "open")

    reader.catch_up(log)
    assert reader.text == "a"


@requirement("M7")
def test_an_update_that_continues_nothing_is_never_applied_as_a_delta() -> None:
    announced = replace(ask(new_log(b"a")), text="")
    reader = Reader(URI)

    assert reader.reassembler.delta(announced) == "gap"
    assert known(reader) == ("", None, "open")


@requirement("M7")
def test_a_repeated_delta_is_nothing() -> None:
    log = new_log(b"same ")
    reader = reader_of(log)
    delta = appended(log, "same ")
    reader.take(delta)
    before = known(reader)

    assert [reader.take(delta) for _ in range(3)] == ["duplicate"] * 3
    assert known(reader) == before


@requirement("M7")
@requirement("SR-6.3")
def test_a_gap_leaves_everything_until_a_read_since_fills_it() -> None:
    log = new_log(b"a")
    reader = reader_of(log)
    before = known(reader)
    appended(log, "lost")

    assert reader.take(appended(log, "b")) == "gap"
    assert known(reader) == before

    reader.catch_up(log)
    assert reader.text == "alostb"


@requirement("M7")
@requirement("SR-6.1")
def test_deltas_from_the_past_show_nothing_again() -> None:
    log = new_log()
    reader = reader_of(log)
    old = [appended(log, text) for text in ("a", "b", "c")]
    reader.catch_up(log)
    before = known(reader)

    assert [reader.take(delta) for delta in old] == ["gap", "gap", "duplicate"]
    reader.catch_up(log)
    assert known(reader) == before


@requirement("SR-3.3")
def test_a_merged_delta_that_begins_in_the_past_is_a_gap_and_shows_nothing_twice() -> None:
    log = new_log()
    start = log.head.position
    reader = reader_of(log)
    reader.take(appended(log, "a"))
    appended(log, "b")

    assert reader.take(answer_of(URI, log.read(start))) == "gap"
    reader.catch_up(log)
    assert reader.text == "ab"


@requirement("SR-6.1")
def test_the_cursor_names_the_end_of_what_was_handed_over() -> None:
    log = new_log("é€😀".encode())
    reader = Reader(URI)

    handed: list[Update] = []
    while not handed or handed[-1].more:
        handed.append(ask(log, reader.reassembler.cursor, max_bytes=4))
        reader.take(ask(log, reader.reassembler.cursor, max_bytes=4))
        assert decode_cursor(reader.reassembler.cursor or "", URI).length == len(reader.text.encode())

    assert reader.text == "é€😀"
