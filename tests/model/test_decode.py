from __future__ import annotations

import pytest
from requirement import requirement

from streamres.model import Utf8Decoder

SAMPLES = {
    "ascii": b"plain text\r\n\0\x1b[1m",
    "every width": "aé€😀👩‍💻\ufeff\u2028".encode(),
    "a stray continuation": b"a\x80b\xbf",
    "a cut code point, then text": b"\xe2\x82A\xf0\x9f\x98 \xc3",
    "overlong": b"\xc0\xaf\xe0\x80\xaf\xf0\x80\x80\xaf",
    "surrogates": b"\xed\xa0\x80\xed\xb2\x80",
    "beyond unicode": b"\xf4\x90\x80\x80\xf5\xff\xfe",
    "latin-1": "Größe: 5 µm".encode("latin-1"),
    "one code point cut by the next": "😀".encode()[:3] + "😀".encode(),
}
samples = pytest.mark.parametrize("raw", SAMPLES.values(), ids=SAMPLES)


@requirement("SR-2.1")
@samples
def test_pieces_of_every_size_give_the_text_of_the_whole(raw: bytes) -> None:
    expected = raw.decode("utf-8", "replace")

    for size in range(1, len(raw) + 1):
        decoder = Utf8Decoder()
        pieces = [decoder.decode(raw[at : at + size]) for at in range(0, len(raw), size)]
        pieces.append(decoder.decode(b"", final=True))
        assert b"".join(pieces).decode() == expected


@requirement("SR-2.1")
@samples
def test_what_replaces_bytes_can_be_encoded_anywhere(raw: bytes) -> None:
    text = Utf8Decoder().decode(raw, final=True).decode("utf-8", "strict")

    assert not any("\ud800" <= char <= "\udfff" for char in text)


@requirement("SR-2.1")
def test_a_code_point_cut_by_the_end_of_a_piece_is_held_back_until_it_is_whole() -> None:
    decoder = Utf8Decoder()

    pieces = [decoder.decode(bytes([byte])) for byte in "a€b".encode()]

    assert pieces == [b"a", b"", b"", "€".encode(), b"b"]
    assert decoder.replaced == 0


@requirement("SR-2.1")
def test_only_the_cut_code_point_is_held_back_not_the_text_before_it() -> None:
    assert Utf8Decoder().decode(b"no line end yet \xf0\x9f\x98") == b"no line end yet "


@requirement("SR-2.1")
def test_at_the_end_nothing_is_lost() -> None:
    decoder = Utf8Decoder()
    decoder.decode(b"last line\xe2\x82")

    assert decoder.decode(b"", final=True).decode() == "\ufffd"


@requirement("SR-2.1")
def test_the_last_piece_may_come_with_the_end() -> None:
    decoder = Utf8Decoder()
    decoder.decode(b"\xe2")

    assert decoder.decode(b"\x82\xac!", final=True).decode() == "€!"


@requirement("SR-2.1")
def test_the_bytes_that_were_not_utf8_are_counted() -> None:
    decoder = Utf8Decoder()

    decoder.decode(b"ok \xff\xfe")
    decoder.decode(b"\xe2\x82")
    decoder.decode(b"A", final=True)

    assert decoder.replaced == 4


@requirement("SR-2.1")
def test_a_replacement_character_of_the_source_is_not_counted() -> None:
    decoder = Utf8Decoder()

    assert decoder.decode("\ufffd".encode(), final=True).decode() == "\ufffd"
    assert decoder.replaced == 0


@requirement("SR-2.1")
def test_a_copy_goes_on_from_what_is_held_back_and_leaves_the_first_alone() -> None:
    first = Utf8Decoder()
    first.decode(b"\xff\xe2\x82")

    twin = first.copy()

    assert (twin.decode(b"\xac").decode(), twin.replaced) == ("€", 1)
    assert (first.decode(b"!").decode(), first.replaced) == ("\ufffd!", 3)
    assert twin.decode(b"", final=True) == b""
