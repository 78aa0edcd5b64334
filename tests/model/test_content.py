from __future__ import annotations

import pytest
from requirement import requirement

from streamres.model.content import BLOCK_BYTES, TextContent

FACE = "😀".encode()


def content_of(*pieces: bytes) -> TextContent:
    content = TextContent()
    for piece in pieces:
        content.append(piece)
    return content


def text_of(content: TextContent, begin: int, end: int) -> bytes:
    return b"".join(slices_of(content, begin, end))


def slices_of(content: TextContent, begin: int, end: int) -> list[bytes]:
    pieces: list[bytes] = []
    for piece in content.slices(begin, end):
        assert piece, "an empty slice: the walk may never end"
        pieces.append(piece)
    return pieces


MANY = [b"%06d\n" % number for number in range(BLOCK_BYTES // 3)]
LAYOUTS = {
    "one small piece": [b"abc\n"],
    "many small pieces": MANY,
    "a whole block": [b"x" * BLOCK_BYTES],
    "a byte more than a block": [b"x" * (BLOCK_BYTES + 1)],
    "large after small": [b"small", b"y" * (3 * BLOCK_BYTES), b"small again"],
    "code points across every border": [b"x" + FACE * BLOCK_BYTES],
    "a code point that fills a block": [b"x" * (BLOCK_BYTES - 1), FACE, b"end"],
}
layouts = pytest.mark.parametrize("pieces", LAYOUTS.values(), ids=LAYOUTS)


@requirement("M5")
@layouts
def test_slices_are_short_whole_code_points_and_join_to_the_range(pieces: list[bytes]) -> None:
    content = content_of(*pieces)
    whole = b"".join(pieces)

    slices = slices_of(content, 0, content.length)

    assert b"".join(slices) == whole
    assert [piece.decode().encode() for piece in slices] == slices
    assert max(map(len, slices)) <= BLOCK_BYTES
    assert len(slices) <= 2 * (len(whole) // BLOCK_BYTES) + len(pieces[:3])


@requirement("SR-3.2")
@layouts
def test_a_range_between_any_code_points_near_a_border_is_exact(pieces: list[bytes]) -> None:
    content = content_of(*pieces)
    whole = b"".join(pieces)
    borders = (0, BLOCK_BYTES, 2 * BLOCK_BYTES, len(whole))
    near = {place for border in borders for place in range(border - 6, border + 6) if 0 <= place <= len(whole)}
    boundaries = sorted(place for place in near if whole[place : place + 1] not in (b"\x9f", b"\x98", b"\x80"))

    for begin in boundaries:
        for end in boundaries:
            assert text_of(content, begin, end) == whole[begin:end]


@requirement("M5")
def test_a_boundary_is_where_a_code_point_starts_or_the_text_ends() -> None:
    text = "aé€😀\0"
    starts = {len(text[:count].encode()) for count in range(len(text) + 1)}
    content = content_of(text.encode())

    assert {place for place in range(content.length + 1) if content.is_boundary(place)} == starts


@requirement("M2")
def test_a_range_shows_the_same_bytes_while_the_text_grows() -> None:
    content = content_of(b"a" * (BLOCK_BYTES - 1), "é".encode() * BLOCK_BYTES, b"tail")
    whole = text_of(content, 0, content.length)

    walk = content.slices(0, content.length)
    pieces = [next(walk)]
    for piece in walk:
        pieces.append(piece)
        content.append(b"more")
        content.append(b"z" * BLOCK_BYTES)

    assert b"".join(pieces) == whole


@requirement("SR-3.2")
def test_a_piece_is_not_changed_by_its_owner_afterwards() -> None:
    mine = b"kept"
    content = content_of(mine)

    content.append(b"more")

    assert mine == b"kept"
    assert text_of(content, 0, 8) == b"keptmore"


@requirement("SR-2.1")
def test_a_very_long_line_is_kept_whole() -> None:
    line = b"progress " * 500_000
    content = content_of(*[line[at : at + 10_000] for at in range(0, len(line), 10_000)], b"\n")

    assert text_of(content, 0, content.length) == line + b"\n"


@requirement("SR-5.8")
@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("one\ntwo\n", 0, 0),
        ("one\ntwo\n", 1, 4),
        ("one\ntwo\n", 4, 4),
        ("one\ntwo\n", 5, 5),
        ("one\ntwo", 2, 4),
        ("no line end", 3, 3),
        ("aaaaaé", 6, 5),
        ("aaaaa😀", 8, 5),
        ("x\n\n\ny", 2, 2),
        ("x\ry\r\nz", 1, 5),
    ],
    ids=[
        "the start of the text",
        "inside the first line",
        "at a line start",
        "nothing behind the last line end",
        "a last line without an end",
        "no line start in reach",
        "inside two bytes",
        "inside four bytes",
        "among empty lines",
        "a carriage return ends no line",
    ],
)
def test_the_line_start_is_the_next_with_text_else_a_boundary(text: str, place: int, expected: int) -> None:
    assert content_of(text.encode()).line_start(place) == expected


@requirement("SR-5.8")
def test_a_line_start_is_found_across_blocks() -> None:
    content = content_of(b"x" * (2 * BLOCK_BYTES), b"y" * 10, b"\nlast")

    assert content.line_start(3) == 2 * BLOCK_BYTES + 11


def test_a_text_of_nothing_has_no_slices() -> None:
    content = content_of(b"")

    assert list(content.slices(0, 0)) == []
    assert content.is_boundary(0)
    assert content.line_start(0) == 0
