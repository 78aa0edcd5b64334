from __future__ import annotations

import re
import tracemalloc
from base64 import urlsafe_b64encode
from hashlib import blake2b
from string import ascii_letters, digits

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.errors import CursorInvalid
from streamres.model import EPOCH_BITS, Position, decode_cursor, encode_cursor
from streamres.model.cursor import MAX_CURSOR_CHARS

from .histories import URI, new_log

POSITION = Position(2**EPOCH_BITS - 1, 300, 70_000)
TOKEN = encode_cursor(POSITION, URI)


def signed(body: bytes, uri: str = URI) -> str:
    """A token with a right check over any body."""
    check = blake2b(body + uri.encode(), digest_size=4).digest()
    return urlsafe_b64encode(body + check).rstrip(b"=").decode()


@requirement("SR-4.1")
@pytest.mark.parametrize(
    "position",
    [Position(0, 0, 0), POSITION, Position(2**EPOCH_BITS - 1, 2**63 - 1, 2**63 - 1)],
    ids=["the least", "a usual one", "the greatest"],
)
def test_a_cursor_is_a_short_word_that_needs_no_escaping(position: Position) -> None:
    token = encode_cursor(position, URI)

    assert re.fullmatch(r"[A-Za-z0-9_-]+", token)
    assert len(token) <= MAX_CURSOR_CHARS
    assert decode_cursor(token, URI) == position


@requirement("SR-4.2")
def test_equal_positions_have_equal_cursors() -> None:
    assert encode_cursor(Position(5, 1, 2), URI) == encode_cursor(Position(5, 1, 2), URI)


@requirement("SR-4.1")
def test_different_positions_have_different_cursors() -> None:
    positions = [Position(e, r, n) for e in (0, 1, 2**40) for r in (0, 1, 127, 128) for n in (0, 1, 128, 2**40)]

    assert len({encode_cursor(position, URI) for position in positions}) == len(positions)


@requirement("SR-4.3")
@pytest.mark.parametrize("other", ["build://7/lo", "build://7/log/", "build://8/log", "BUILD://7/log", ""])
def test_a_cursor_of_another_resource_is_invalid(other: str) -> None:
    with pytest.raises(CursorInvalid) as caught:
        decode_cursor(TOKEN, other)

    assert caught.value.uri == other


@requirement("SR-5.6")
def test_a_cursor_with_one_other_character_is_invalid() -> None:
    for index, letter in enumerate(TOKEN):
        for other in f"{ascii_letters}{digits}-_+/= \n\0é":
            if other != letter:
                with pytest.raises(CursorInvalid):
                    decode_cursor(TOKEN[:index] + other + TOKEN[index + 1 :], URI)


@requirement("SR-5.6")
def test_a_cursor_that_is_cut_or_grown_is_invalid() -> None:
    cut = [TOKEN[:end] for end in range(len(TOKEN))] + [TOKEN[begin:] for begin in range(1, len(TOKEN) + 1)]
    grown = [
        place for extra in ("A", "=", "==", "\n", " ", "%3D", TOKEN) for place in (TOKEN + extra, extra + TOKEN)
    ]

    for damaged in cut + grown:
        with pytest.raises(CursorInvalid):
            decode_cursor(damaged, URI)


@requirement("SR-5.6")
@given(st.text(st.characters(exclude_categories=()), max_size=80) | st.text("AQg_-w=", max_size=40))
@settings(max_examples=300, deadline=None)
def test_text_that_is_no_cursor_raises_nothing_but_cursor_invalid(text: str) -> None:
    with pytest.raises(CursorInvalid):
        decode_cursor(text, URI)


@requirement("SR-5.6")
@given(st.binary(max_size=30))
@settings(max_examples=300, deadline=None)
def test_a_body_with_a_right_check_is_a_cursor_in_one_form_or_invalid(body: bytes) -> None:
    token = signed(body)
    try:
        position = decode_cursor(token, URI)
    except CursorInvalid:
        return

    assert encode_cursor(position, URI) == token


@requirement("SR-4.1")
@pytest.mark.parametrize(
    "numbers",
    [b"\x81\x00\x02", b"\x01\x82\x80\x00", b"\x01\x02\x00", b"\x01", b"\x01\x82", b"", b"\x80" * 9 + b"\x01\x02"],
    ids=[
        "padded revision",
        "padded length",
        "a third number",
        "no length",
        "cut",
        "none",
        "ten bytes of revision",
    ],
)
def test_a_position_has_no_second_name(numbers: bytes) -> None:
    assert decode_cursor(signed(bytes(6) + b"\x01\x02"), URI) == Position(0, 1, 2)

    with pytest.raises(CursorInvalid):
        decode_cursor(signed(bytes(6) + numbers), URI)


@requirement("SR-4.3")
def test_a_uri_that_is_not_valid_unicode_has_cursors_too() -> None:
    uri = "file:///\udc80"

    assert decode_cursor(encode_cursor(POSITION, uri), uri) == POSITION


@requirement("SR-12.2")
def test_a_token_of_any_length_is_refused_without_a_copy_of_it() -> None:
    token = "A" * 10_000_000

    tracemalloc.start()
    with pytest.raises(CursorInvalid):
        decode_cursor(token, URI)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 100_000


@requirement("SR-12.2")
@pytest.mark.parametrize("max_bytes", [None, 10])
@pytest.mark.parametrize(
    ("revision", "length"),
    [(2**63 - 1, 2**63 - 1), (1, 2**63 - 1), (2**63 - 1, 1)],
    ids=["both", "length", "revision"],
)
def test_huge_numbers_in_a_cursor_allocate_nothing(revision: int, length: int, max_bytes: int | None) -> None:
    log = new_log(b"text")
    token = encode_cursor(Position(log.head.position.epoch, revision, length), URI)

    tracemalloc.start()
    reading = log.read(decode_cursor(token, URI), max_bytes=max_bytes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert reading.reset in ("ahead", "epoch")
    assert peak < 100_000
