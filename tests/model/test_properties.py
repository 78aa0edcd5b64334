"""M1 to M7 over random histories, against an oracle that keeps whole byte strings."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.model import Append, Position, Snapshot, Utf8Decoder, content, decode_cursor, encode_cursor, fold

from .histories import FIRST_EPOCH, URI, Step, histories, play, played, shown
from .reader import Reader, answer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.model import Update

# Without the phase that explains a failure: it takes minutes where many examples fail.
examples = settings(
    max_examples=200, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
)
huge = st.integers(2**31, 2**63 - 1)
numbers = st.integers(0, 300) | huge


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Short texts then cross as many block borders as megabytes do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "BLOCK_BYTES", 7)
        yield


@requirement("M1")
@given(steps=histories)
@examples
def test_the_revisions_of_an_epoch_count_every_change_without_a_hole(steps: list[Step]) -> None:
    for log, oracle in play(steps):
        assert log.head.position == oracle.head
        assert log.head.state == oracle.state
        assert log.floor == Position(oracle.epoch, oracle.floor, len(oracle.lives[oracle.epoch][oracle.floor]))


@requirement("M2")
@requirement("SR-3.1")
@given(steps=histories)
@examples
def test_a_reading_shows_the_same_content_for_ever(steps: list[Step]) -> None:
    readings = [
        (reading.step, oracle.content) for log, oracle in play(steps) for reading in (log.read(), log.read())
    ]

    for step, expected in readings:
        assert shown(step) == expected


@requirement("M4")
@requirement("SR-3.2")
@requirement("SR-5.5")
@given(steps=histories)
@examples
def test_every_earlier_snapshot_is_continued_exactly_or_reset(steps: list[Step]) -> None:
    heads: dict[Position, Snapshot] = {}
    for log, oracle in play(steps):
        now = log.read().step
        assert isinstance(now, Snapshot)
        heads[log.head.position] = now

        for position, snapshot in heads.items():
            reading = log.read(position)
            assert reading.reset == oracle.refusal(position)
            if isinstance(reading.step, Append):
                assert reading.step.start == position
                assert shown(reading.step) == oracle.content[position.length :]
                assert fold(snapshot, [reading.step]) == oracle.content
            else:
                assert shown(reading.step) == oracle.content


@requirement("SR-3.3")
@given(texts=st.lists(st.sampled_from(["a", "é", "😀\n", "\r\n"]), min_size=1, max_size=8), data=st.data())
@examples
def test_merged_deltas_equal_their_chain(texts: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(texts)))
    deltas: list[Append] = []
    for log, oracle in play([Step("append", text) for text in texts]):
        if oracle.head.revision == first:
            snapshot, last = log.read().step, oracle.head
        elif oracle.head.revision > first and (data.draw(st.booleans()) or oracle.head.revision == len(texts)):
            delta = log.read(last).step
            assert isinstance(delta, Append)
            deltas.append(delta)
            last = oracle.head
    assert isinstance(snapshot, Snapshot)

    if deltas:
        merged = deltas[0]
        for delta in deltas[1:]:
            merged = merged.merge(delta)
        assert shown(merged) == b"".join(map(shown, deltas))
        assert fold(snapshot, [merged]) == fold(snapshot, deltas) == oracle.content


@requirement("SR-5.7")
@requirement("M5")
@given(steps=histories, max_bytes=st.integers(0, 12), data=st.data())
@examples
def test_pages_of_any_size_reassemble_exactly(steps: list[Step], max_bytes: int, data: st.DataObject) -> None:
    log, oracle = played(steps)
    starts = [
        (log.floor, len(oracle.lives[oracle.epoch][oracle.floor])),
        (oracle.head, len(oracle.content)),
        (None, 0),
    ]
    since, length = data.draw(st.sampled_from(starts))
    parts = [oracle.content[:length]]

    reading = log.read(since, max_bytes=max_bytes)
    while reading.more:
        parts.append(shown(reading.step))
        assert parts[-1]
        assert len(parts[-1]) <= max_bytes or len(parts[-1].decode()) == 1
        assert (reading.state, reading.digest) == ("open", None)
        reading = log.read(reading.step.stop, max_bytes=max_bytes)
        assert isinstance(reading.step, Append), "a page cannot be continued"
    parts.append(shown(reading.step))

    assert [part.decode().encode() for part in parts] == parts
    assert b"".join(parts) == oracle.content
    assert (reading.step.stop, reading.state) == (oracle.head, oracle.state)


@requirement("M6")
@requirement("SR-3.4")
@given(steps=histories)
@examples
def test_the_digest_is_that_of_the_content_and_comes_with_the_seal_only(steps: list[Step]) -> None:
    for log, oracle in play(steps):
        expected = f"sha-256=:{b64encode(sha256(oracle.content).digest()).decode()}:"
        assert log.head.digest == (None if oracle.state == "open" else expected)
        assert log.read().digest == log.head.digest


@requirement("M7")
@requirement("SR-6.1")
@given(steps=histories, page=st.none() | st.integers(1, 9), data=st.data())
@examples
def test_a_reader_is_right_through_drops_repeats_and_reordering(
    steps: list[Step], page: int | None, data: st.DataObject
) -> None:
    reader = Reader(URI)
    sent: list[Update] = []
    last = Position(FIRST_EPOCH, 0, 0)
    for log, oracle in play(steps):
        sent.append(answer_of(URI, log.read(last)))
        last = log.head.position

        for index in data.draw(st.lists(st.integers(0, len(sent) - 1), max_size=3), label="delivered"):
            delta = sent[index]
            gap = delta.since is None or reader.take(delta) == "gap"
            if gap and data.draw(st.booleans(), label="reads since"):
                reader.catch_up(log, max_bytes=page)
            cursor = reader.reassembler.cursor
            assert reader.text.encode() == (oracle.at(decode_cursor(cursor, URI)) if cursor else b"")

    reader.catch_up(log, max_bytes=page)
    assert reader.text.encode() == oracle.content
    assert reader.reassembler.state == oracle.state


@requirement("SR-2.1")
@given(
    raw=st.lists(
        st.binary(max_size=4)
        | st.sampled_from(["é", "€", "😀", "\ud800", "a"]).map(lambda text: text.encode("utf-8", "surrogatepass")),
        max_size=6,
    ).map(b"".join),
    data=st.data(),
)
@settings(examples, max_examples=800)
def test_bytes_cut_anywhere_give_the_text_of_the_whole(raw: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    decoder = Utf8Decoder()

    pieces = [decoder.decode(raw[a:b]) for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    pieces.append(decoder.decode(b"", final=True))

    assert b"".join(pieces).decode() == raw.decode("utf-8", "replace")
    assert all(piece.decode().encode() == piece for piece in pieces)
    assert decoder.replaced == len(raw) - len(raw.decode("utf-8", "ignore").encode())


@requirement("SR-4.3")
@given(epoch=st.integers(0, 2**48 - 1), revision=numbers, length=numbers, uri=st.text(min_size=1))
@examples
def test_a_cursor_gives_its_position_back_for_its_uri_only(
    epoch: int, revision: int, length: int, uri: str
) -> None:
    position = Position(epoch, revision, length)

    token = encode_cursor(position, uri)

    assert decode_cursor(token, uri) == position
    assert encode_cursor(position, uri + "x") != token


@requirement("SR-4.4")
@requirement("SR-5.5")
@requirement("SR-12.2")
@given(steps=histories, max_bytes=st.none() | st.integers(0, 9), data=st.data())
@settings(examples, max_examples=400)
def test_a_forged_cursor_is_answered_exactly_or_reset(
    steps: list[Step], max_bytes: int | None, data: st.DataObject
) -> None:
    log, oracle = played(steps)
    epoch = data.draw(
        st.just(oracle.epoch) | st.integers(FIRST_EPOCH - 1, oracle.epoch) | st.integers(0, 2**48 - 1)
    )
    revision = data.draw(st.integers(0, oracle.head.revision + 1) | huge)
    length = data.draw(st.integers(0, len(oracle.content) + 1) | huge)
    forged = decode_cursor(encode_cursor(Position(epoch, revision, length), URI), URI)

    reading = log.read(forged, max_bytes=max_bytes)

    begin = 0 if reading.reset else forged.length
    text = shown(reading.step).decode()
    assert oracle.content[begin:].startswith(text.encode())
    assert oracle.content[:begin].decode().encode() == oracle.content[:begin]
    assert reading.more or begin + len(text.encode()) == len(oracle.content)
    if forged.epoch != oracle.epoch:
        assert reading.reset == "epoch"
    elif forged.revision > oracle.head.revision:
        assert reading.reset == "ahead"
    elif forged.revision < oracle.floor:
        assert reading.reset == "expired"
