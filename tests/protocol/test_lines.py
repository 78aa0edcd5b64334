"""Lines out of bytes: LF ends one, nothing else does, and at most one is held."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from requirement import requirement

from streamres.protocol.lines import LineSplitter

LIMIT = 8


def lines_of(data: bytes, size: int, *, limit: int = LIMIT) -> list[bytes | None]:
    splitter = LineSplitter(limit)
    return [line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])]


@requirement("P1")
@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\x00", "\u2028".encode(), b"1234567"]), max_size=30))
def test_any_cutting_of_the_bytes_gives_the_same_lines(parts: list[bytes]) -> None:
    data = b"".join(parts)
    whole = lines_of(data, len(data) or 1)

    assert all(lines_of(data, size) == whole for size in range(1, len(data)))


@requirement("P1")
@pytest.mark.parametrize("end", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_only_lf_ends_a_line(end: str) -> None:
    assert lines_of(f"a{end}b\n".encode(), 64) == [f"a{end}b".encode()]


@requirement("P5")
def test_what_follows_the_last_lf_is_no_line() -> None:
    assert lines_of(b"one\ntwo", 64) == [b"one"]


@requirement("P3")
def test_a_line_of_the_limit_passes_and_a_longer_one_is_told_once_and_skipped() -> None:
    data = b"12345678\n" + b"x" * 100 + b"\n" + b"next\n"

    assert lines_of(data, 7) == [b"12345678", None, b"next"]
    assert lines_of(data, 1) == [b"12345678", None, b"next"]


@requirement("P3")
def test_a_line_without_end_is_told_at_once_and_nothing_of_it_is_kept() -> None:
    splitter = LineSplitter(LIMIT)

    told = [line for _ in range(1000) for line in splitter.feed(b"x" * 100)]

    assert told == [None]
    assert list(splitter.feed(b"\nnext\n")) == [b"next"]
