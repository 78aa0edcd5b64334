from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres.errors import DigestMismatch

from .histories import URI, new_log
from .reader import Reader, answer_of, appended, ask, known, reader_of

if TYPE_CHECKING:
    pass


@requirement("SR-5.5")
@requirement("M7")
def test_an_expired_cursor_shows_only_what_is_new_and_the_digest_is_still_proved() -> None:
    log = new_log("é".encode())
    reader = reader_of(log)
    log.commit(b"a")
    log.compact(2)

    answer = ask(log, reader.reassembler.cursor)
    news = reader.reassembler.snapshot(answer)

    assert (answer.reset, answer.text) == ("expired", "éa")
    assert (news.reset, news.text) == (None, "a")
    log.commit(b"", seal="complete")
    reader.reassembler.delta(ask(log, reader.reassembler.cursor))
    assert reader.reassembler.sealed


@requirement("SR-3.1")
@requirement("M7")
def test_a_snapshot_with_another_beginning_replaces_what_was_shown() -> None:
    log = new_log(b"abc", b"d")
    reader = reader_of(log)
    expired = replace(ask(log), text="xbcde", reset="expired")

    reader.take(expired)

    assert reader.text == "xbcde"


@requirement("SR-5.7")
@requirement("M7")
def test_an_expired_snapshot_in_pages_ends_at_the_content() -> None:
    log = new_log(b"0123456789")
    reader = reader_of(log)
    log.commit(b"abc")
    log.compact(2)

    reader.catch_up(log, max_bytes=3)

    assert reader.text == "0123456789abc"


@requirement("SR-2.4")
@pytest.mark.parametrize(
    "text", ["other", "known and more", "known", ""], ids=["other", "longer", "equal", "empty"]
)
def test_a_new_epoch_replaces_what_was_shown_however_it_begins(text: str) -> None:
    log = new_log(b"known")
    reader = reader_of(log)
    log.replace(text.encode(), epoch=2)

    answer = ask(log, reader.reassembler.cursor)
    news = reader.reassembler.snapshot(answer)

    assert (news.reset, news.text) == ("epoch", text)


@requirement("SR-5.5")
def test_a_history_that_went_back_replaces_what_was_shown() -> None:
    reader = reader_of(new_log(b"a", b"b", b"lost by a restore"))
    restored = new_log(b"a", b"b")

    reader.catch_up(restored)

    assert reader.text == "ab"
    assert reader.take(appended(restored, "c")) == "applied"
    assert reader.text == "abc"


@requirement("M7")
def test_a_snapshot_without_a_reset_shows_nothing_twice() -> None:
    log = new_log(b"a")
    reader = reader_of(log)
    log.commit(b"b")

    reader.take(ask(log))

    assert reader.text == "ab"


@requirement("SR-3.4")
@requirement("M3")
@pytest.mark.parametrize("by", ["delta", "snapshot", "expired"])
def test_content_that_is_not_what_was_sealed_is_refused_and_changes_nothing(by: str) -> None:
    log = new_log(b"a")
    reader = reader_of(log)
    before = known(reader)
    log.commit(b"b", seal="complete")
    if by == "expired":
        log.compact(2)
    true = ask(log, None if by == "snapshot" else reader.reassembler.cursor)
    false = replace(true, text=true.text + "?")

    with pytest.raises(DigestMismatch) as caught:
        reader.take(false)

    assert (caught.value.uri, caught.value.expected) == (URI, log.head.digest)
    assert known(reader) == before
    reader.catch_up(log)
    assert known(reader) == ("ab", true.cursor, "complete")


@requirement("SR-5.8")
@requirement("SR-3.4")
def test_a_reader_of_a_tail_follows_to_the_seal_without_a_digest_of_the_whole() -> None:
    log = new_log(b"one\ntwo\n")
    reader = Reader(URI)
    reader.take(answer_of(URI, log.read(tail_bytes=4)))

    log.commit(b"three\n", seal="complete")
    reader.catch_up(log)

    assert reader.text == "two\nthree\n"
    assert reader.reassembler.sealed


@requirement("SR-5.8")
@requirement("SR-5.5")
def test_a_reader_of_a_tail_whose_cursor_expired_gets_the_whole_as_a_reset() -> None:
    log = new_log(b"one\ntwo\n")
    reader = Reader(URI)
    reader.take(answer_of(URI, log.read(tail_bytes=4)))
    log.commit(b"three\n")
    log.compact(2)

    reader.catch_up(log)

    assert reader.text == "one\ntwo\nthree\n"


@requirement("SR-5.3")
def test_a_reader_with_a_cursor_of_an_earlier_one_goes_on_and_learns_of_the_end() -> None:
    log = new_log(b"read before ")
    earlier = reader_of(log)
    log.commit(b"new", seal="aborted")

    later = Reader(URI, since=earlier.reassembler.cursor)
    later.catch_up(log)
    last = Reader(URI, since=later.reassembler.cursor)
    last.catch_up(log)

    assert known(later) == ("new", ask(log).cursor, "aborted")
    assert known(last) == ("", ask(log).cursor, "aborted")


@requirement("SR-5.5")
def test_a_reader_with_a_cursor_that_expired_replaces_what_it_cannot_know() -> None:
    log = new_log(b"a")
    cursor = ask(log).cursor
    log.commit(b"b")
    log.compact(2)
    later = Reader(URI, since=cursor, text="a")

    later.catch_up(log)

    assert later.text == "ab"
