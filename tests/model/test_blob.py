"""Blobs: the very bytes, cut anywhere, held and walked as texts are."""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import sha256

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.model import Append, Reassembler, ResourceLog, Snapshot, Update, encode_cursor, fold
from streamres.model.content import BLOCK_BYTES
from streamres.protocol.text import TextEncoder

URI = "build://7/image"


def log_of(*pieces: bytes) -> ResourceLog:
    log = ResourceLog(URI, epoch=1, kind="blob")
    for piece in pieces:
        log.commit(piece)
    return log


@requirement("SR-2.2")
@requirement("SR-5.7")
@requirement("M4")
@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=20), max_size=8), st.integers(1, 9), st.booleans())
def test_pages_of_any_size_from_any_revision_end_in_the_very_bytes(
    pieces: list[bytes], max_bytes: int, sealed: bool
) -> None:
    log = log_of(*pieces)
    whole = b"".join(pieces)
    if sealed:
        log.commit(b"", seal="complete")

    first = log.read(max_bytes=max_bytes)
    assert isinstance(first.step, Snapshot)
    deltas: list[Append] = []
    reading = first
    while reading.more:
        reading = log.read(reading.step.stop, max_bytes=max_bytes)
        assert isinstance(reading.step, Append)
        assert 1 <= reading.step.size <= max_bytes
        deltas.append(reading.step)

    assert fold(first.step, deltas) == whole
    assert reading.step.stop == log.head.position
    assert reading.state == log.head.state


@requirement("SR-2.2")
@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 3 * BLOCK_BYTES), st.integers(0, 2 * BLOCK_BYTES), st.lists(st.integers(1, 70_000), max_size=5)
)
@example(BLOCK_BYTES + 1, BLOCK_BYTES + 1, [])
def test_base64_made_in_pieces_is_that_of_the_whole(length: int, begin: int, cuts: list[int]) -> None:
    whole = bytes(range(256)) * (length // 256 + 1)
    whole = whole[:length]
    log, at = log_of(), 0
    for cut in [*cuts, length]:
        log.commit(whole[at : at + cut])
        at = min(length, at + cut)
    snapshot = log.read(tail_bytes=begin).step

    encoded = b"".join(TextEncoder().pieces(URI, snapshot))

    assert encoded == b64encode(whole[snapshot.begin :])
    assert encoded == TextEncoder().joined(URI, snapshot)
    assert b64decode(encoded, validate=True) == whole[snapshot.begin :]


@requirement("SR-3.4")
def test_the_seal_has_the_digest_of_the_bytes() -> None:
    log = log_of(b"\xff\xfe", b"\x00")

    head = log.commit(b"\x80", seal="complete")

    assert head.digest == f"sha-256=:{b64encode(sha256(bytes.fromhex('fffe0080')).digest()).decode()}:"


@requirement("SR-2.2")
@pytest.mark.parametrize("data", [b"\xff", b"\xe2\x82", b"\x00\x80", b"\n\r"], ids=repr)
def test_bytes_that_are_no_text_are_taken_as_they_are(data: bytes) -> None:
    log = log_of(data)

    assert b"".join(log.read().step.slices()) == data


@requirement("M7")
@requirement("SR-5.5")
def test_a_reader_below_the_floor_is_handed_the_new_bytes_only() -> None:
    log = log_of(b"\xff\x00", b"\x01")
    reader = Reassembler(URI)
    first = encode_cursor(log.head.position, URI)
    reader.snapshot(Update(kind="blob", blob=b"\xff\x00\x01", cursor=first, revision=2, state="open"))
    last = encode_cursor(log.commit(b"\xfe").position, URI)

    news = reader.snapshot(
        Update(kind="blob", blob=b"\xff\x00\x01\xfe", cursor=last, revision=3, state="open", reset="expired")
    )

    assert (news.blob, news.reset) == (b"\xfe", None)
