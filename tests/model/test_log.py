from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

import pytest
from requirement import requirement

from streamres.errors import DeltaError
from streamres.model import SEALS, Append, Position, Seal, Snapshot, fold

from .histories import FIRST_EPOCH, new_log, shown


def digest_of(data: bytes) -> str:
    return f"sha-256=:{b64encode(sha256(data).digest()).decode()}:"


@requirement("M1")
def test_a_new_resource_is_empty_and_open_at_revision_0() -> None:
    log = new_log()

    reading = log.read()
    assert log.head.position == Position(FIRST_EPOCH, 0, 0)
    assert (shown(reading.step), reading.state, reading.digest, reading.more) == (b"", "open", None, False)


@requirement("M1")
def test_an_append_of_nothing_is_no_revision() -> None:
    log = new_log(b"a")
    before = log.head

    assert log.commit(b"") is before
    assert log.head is before


@requirement("SR-3.2")
@pytest.mark.parametrize(
    "pieces",
    [
        [b"line\r", b"\nnext"],
        [b" 10%\r", b" 20%\r", b"100%\n"],
        [b"a\0b", b"\0"],
        [b"\x1b[3", b"1mred\x1b[0m"],
        ["\u2028".encode(), "\ufeff".encode(), b"\x0b\x0c\x85"[:2]],
        [b"the last line has no end"],
        [b"twice\n", b"twice\n"],
    ],
    ids=["cut CRLF", "progress bar", "NUL", "cut escape", "odd separators", "no line end", "equal lines"],
)
def test_text_comes_back_as_it_was_appended(pieces: list[bytes]) -> None:
    log = new_log()
    start = log.head.position

    for piece in pieces:
        log.commit(piece)

    assert shown(log.read().step) == b"".join(pieces)
    assert shown(log.read(start).step) == b"".join(pieces)


@requirement("SR-3.2")
def test_positions_count_bytes_not_characters() -> None:
    log = new_log("é€😀".encode())
    middle = log.head.position

    log.commit("ü!".encode())

    assert middle.length == 9
    assert shown(log.read(middle).step).decode() == "ü!"


@requirement("M6")
@requirement("SR-9.2")
@pytest.mark.parametrize("seal", SEALS)
def test_the_last_append_and_the_seal_are_one_revision(seal: Seal) -> None:
    log = new_log(b"a")

    head = log.commit(b"the end", seal=seal)

    assert (head.position.revision, head.state, head.digest) == (2, seal, digest_of(b"athe end"))
    assert shown(log.read().step) == b"athe end"


@requirement("M6")
@pytest.mark.parametrize("seal", SEALS)
def test_a_seal_alone_is_a_revision_and_again_it_is_nothing(seal: Seal) -> None:
    log = new_log(b"a")

    head = log.commit(b"", seal=seal)

    assert head.position == Position(FIRST_EPOCH, 2, 1)
    assert log.commit(b"", seal=seal) is head
    assert log.head is head


@requirement("SR-3.4")
def test_the_digest_after_a_replacement_is_that_of_the_new_content() -> None:
    log = new_log(b"old")

    log.replace(b"new", epoch=2)

    assert log.commit(b"er", seal="complete").digest == digest_of(b"newer")


@requirement("SR-2.4")
def test_replaced_content_is_a_new_epoch_and_never_a_delta() -> None:
    log = new_log(b"old text")
    old, before = log.head.position, log.read()

    head = log.replace(b"new", epoch=2)

    reading = log.read(old)
    assert head.position == Position(2, 0, 3)
    assert (type(reading.step), reading.reset, shown(reading.step)) == (Snapshot, "epoch", b"new")
    assert shown(before.step) == b"old text"


@requirement("SR-3.5")
def test_compaction_keeps_the_content_and_moves_the_floor_up_only() -> None:
    log = new_log(b"a", b"b", b"c")

    log.compact(2)
    log.compact(1)

    assert log.floor == Position(FIRST_EPOCH, 2, 2)
    assert shown(log.read().step) == b"abc"
    assert shown(log.read(log.floor).step) == b"c"


@requirement("SR-3.3")
def test_deltas_that_are_not_adjacent_are_neither_merged_nor_folded() -> None:
    log, other = new_log(b"a", b"b", b"c"), new_log(b"a", b"b", b"c")
    start = log.read(max_bytes=1).step
    first, last = log.read(start.stop, max_bytes=1).step, log.read(Position(FIRST_EPOCH, 3, 3)).step
    foreign = other.read(Position(FIRST_EPOCH, 2, 2)).step
    assert isinstance(start, Snapshot)
    assert isinstance(first, Append)
    assert isinstance(last, Append)
    assert isinstance(foreign, Append)

    for later in (last, foreign, first):
        with pytest.raises(DeltaError):
            first.merge(later)
    with pytest.raises(DeltaError):
        fold(start, [last])
