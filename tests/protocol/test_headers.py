"""The codec of header values: any text comes through, and what is broken is nothing (spec, Value Encoding)."""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamres.protocol.envelope import RoutingHeaders, decode_header, encode_header

SPECIFIED = {
    "us-west1": "us-west1",
    "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=",
    " padded ": "=?base64?IHBhZGRlZCA=?=",
    "line1\nline2": "=?base64?bGluZTEKbGluZTI=?=",
    "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
}


@pytest.mark.parametrize(("value", "encoded"), SPECIFIED.items())
def test_the_examples_of_the_specification_hold(value: str, encoded: str) -> None:
    assert encode_header(value) == encoded
    assert decode_header(encoded) == value


@given(st.text())
@settings(deadline=None)
@example("")
@example("=?base64?")
@example("?=")
@example("=?base64??=")
@example("\t")
@example("\x7f")
@example("a\r\nx-injected: 1")
def test_any_text_comes_through_as_visible_ascii(value: str) -> None:
    encoded = encode_header(value)

    assert decode_header(encoded) == value
    assert all(" " <= char <= "~" for char in encoded)
    assert encoded == encoded.strip()


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E)))
@settings(deadline=None)
def test_visible_ascii_is_sent_as_it_is_unless_it_looks_encoded(value: str) -> None:
    looks_encoded = value.startswith("=?base64?") and value.endswith("?=")

    assert (encode_header(value) == value) is not looks_encoded


BROKEN = {
    "not base64": "=?base64?***?=",
    "cut": "=?base64?SGVsbG8?=",
    "with a line end": "=?base64?SGVs\nbG8=?=",
    "with a space": "=?base64?SGVs bG8=?=",
    "url-safe letters": "=?base64?_-__?=",
    "spare bits": "=?base64?SGVsbG9=?=",
    "not UTF-8": f"=?base64?{b64encode(bytes([255])).decode()}?=",
    "an encoded surrogate": "=?base64?7aCA?=",
}


@pytest.mark.parametrize("value", BROKEN.values(), ids=BROKEN)
def test_a_broken_encoding_stands_for_nothing(value: str) -> None:
    assert decode_header(value) is None


@pytest.mark.parametrize("value", ["=?BASE64?SGVsbG8=?=", "=?base64?SGVsbG8=", "SGVsbG8=?="])
def test_the_markers_are_taken_exactly(value: str) -> None:
    assert decode_header(value) == value


@given(st.text(st.characters(max_codepoint=0xFF)))
@settings(deadline=None)
def test_no_header_value_breaks_the_decoder(value: str) -> None:
    decoded = decode_header(value)

    assert decoded is None or isinstance(decoded, str)


@pytest.mark.parametrize("around", [b" ", b"\t", b" \t "])
def test_white_space_around_a_header_is_no_part_of_it(around: bytes) -> None:
    sent = {
        b"mcp-protocol-version": b"2026-07-28",
        b"mcp-method": b"tools/call",
        b"mcp-name": b"a b",
        b"mcp-param-region": b"=?base64?IHg=?=",
    }
    raw = [(name, around + value + around) for name, value in sent.items()]

    headers = RoutingHeaders.from_raw(raw, dict(raw))

    assert (headers.version, headers.method, headers.name) == ("2026-07-28", "tools/call", "a b")
    assert decode_header(headers.arguments["region"]) == " x"
