"""The encoder of texts: pieces that are together the JSON string, shared between readers, in bounded memory."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.model import Append, ResourceLog, Snapshot
from streamres.protocol.text import TextEncoder

URI = "build://7/log"


def log_of(*texts: str, epoch: int = 1) -> ResourceLog:
    log = ResourceLog(URI, epoch=epoch)
    for text in texts:
        log.commit(text.encode())
    return log


@given(st.lists(st.text(max_size=20), max_size=10), st.integers(0, 100))
@settings(max_examples=100, deadline=None)
def test_the_pieces_are_together_the_inside_of_the_json_string(texts: list[str], cache_bytes: int) -> None:
    log = log_of(*texts)
    encoder = TextEncoder(cache_bytes)

    for _ in range(2):  # from scratch, then with whatever is remembered
        inside = encoder.joined(URI, log.read().step)

        assert json.loads(b'"' + inside + b'"') == "".join(texts)


def test_a_long_text_is_walked_in_bounded_pieces() -> None:
    log = log_of("é\x00" * 200_000)

    pieces = list(TextEncoder().pieces(URI, log.read().step))

    assert len(pieces) > 5
    assert max(map(len, pieces)) <= 64 * 1024 * 6  # six bytes for a NUL


@requirement("SR-3.1")
def test_a_range_that_two_readers_want_is_encoded_once() -> None:
    log = log_of("some text")
    encoder = TextEncoder()

    first, second = (list(encoder.pieces(URI, log.read().step)) for _ in range(2))

    assert [id(piece) for piece in first] == [id(piece) for piece in second]


@requirement("SR-3.1")
def test_the_same_range_of_another_epoch_or_resource_is_another_text() -> None:
    encoder = TextEncoder()

    texts = [
        encoder.joined(uri, log_of(text, epoch=epoch).read().step)
        for uri, epoch, text in [(URI, 1, "one"), (URI, 2, "two"), (URI + "2", 1, "six")]
    ]

    assert texts == [b"one", b"two", b"six"]


@requirement("T3")
@pytest.mark.parametrize("size", [1, 100, 60_000], ids=["a byte", "a line", "a block"])
def test_what_is_remembered_is_bounded_however_small_the_pieces_are(size: int) -> None:
    cache_bytes = 256 * 1024
    log = log_of("x" * size)
    encoder = TextEncoder(cache_bytes)

    tracemalloc.start()
    try:
        for _ in range(min(8_000, 3 * cache_bytes // size)):
            since = log.head.position
            log.commit(b"x" * size)
            step: Append | Snapshot = log.read(since).step
            encoder.joined(URI, step)
        held = tracemalloc.get_traced_memory()[0] - log.head.position.length
    finally:
        tracemalloc.stop()

    # An entry weighs what its key and its place weigh too, not the text alone.
    assert held < 2 * cache_bytes
