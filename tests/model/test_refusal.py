"""M3: whatever is refused, all that can be observed is as it was, and work goes on as if nothing had been."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres.errors import (
    DeltaError,
    LimitExceeded,
    ProducerConflict,
    ProducerFenced,
    ProducerGap,
    ResourceSealed,
    RevisionConflict,
    StreamresError,
)
from streamres.model import AppendNumber, Position

from .histories import FIRST_EPOCH, new_log, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamres.model import ResourceLog

CONTENT = "first é\nsecond\n".encode()
PIECES = ["first é".encode(), b"\n", b"second\n"]


def number(seq: int, *, producer: str = "p", epoch: int = 5) -> AppendNumber:
    return AppendNumber(producer=producer, epoch=epoch, seq=seq)


def written_log() -> ResourceLog:
    """Three numbered appends; revision 1 is compacted away; a second producer would be one too many."""
    log = new_log(max_producers=1)
    for seq, data in enumerate(PIECES):
        log.commit(data, number=number(seq))
    log.compact(2)
    return log


def next_seq(log: ResourceLog) -> int:
    with pytest.raises(ProducerGap) as caught:
        log.commit(b"", number=number(1_000))
    return caught.value.expected


def observed(log: ResourceLog) -> list[object]:
    """All that anyone can learn of a resource without changing it."""
    epochs, revisions, lengths = range(3), range(6), range(len(CONTENT) + 3)
    positions = [None, *(Position(e, r, n) for e in epochs for r in revisions for n in lengths)]
    readings = [log.read(since, max_bytes=size) for since in positions for size in (None, 3)]
    seen: list[object] = [
        (type(r.step), r.step.stop, shown(r.step), r.state, r.digest, r.reset, r.more) for r in readings
    ]
    acknowledged = [log.commit(data, number=number(seq)) for seq, data in enumerate(PIECES)]
    return [*seen, log.head, log.floor, acknowledged, next_seq(log)]


@dataclass(frozen=True, slots=True)
class Refused:
    error: type[StreamresError]
    write: Callable[[ResourceLog], object]


OPEN = {
    "bytes that are not UTF-8": Refused(DeltaError, lambda log: log.commit(b"ok \xff ok")),
    "a code point that is cut at its end": Refused(DeltaError, lambda log: log.commit("ok €".encode()[:-1])),
    "a code point that is cut at its start": Refused(DeltaError, lambda log: log.commit("€".encode()[1:])),
    "a surrogate": Refused(DeltaError, lambda log: log.commit(b"\xed\xa0\x80")),
    "not UTF-8 with a seal": Refused(DeltaError, lambda log: log.commit(b"\xff", seal="complete")),
    "not UTF-8 with the next number": Refused(DeltaError, lambda log: log.commit(b"\xff", number=number(3))),
    "not UTF-8 with a new producer epoch": Refused(
        DeltaError, lambda log: log.commit(b"\xff", number=number(0, epoch=6))
    ),
    "an earlier revision": Refused(RevisionConflict, lambda log: log.commit(b"x", expected_revision=2)),
    "a later revision": Refused(RevisionConflict, lambda log: log.commit(b"x", expected_revision=4)),
    "a seal of another revision": Refused(
        RevisionConflict, lambda log: log.commit(b"", seal="complete", expected_revision=2)
    ),
    "another revision with the next number": Refused(
        RevisionConflict, lambda log: log.commit(b"x", number=number(3), expected_revision=2)
    ),
    "a number again with other bytes": Refused(
        ProducerConflict, lambda log: log.commit(b"SECOND\n", number=number(2))
    ),
    "a number again with a seal": Refused(
        ProducerConflict, lambda log: log.commit(PIECES[2], number=number(2), seal="complete")
    ),
    "a number too far": Refused(ProducerGap, lambda log: log.commit(b"x", number=number(4))),
    "a new epoch that does not start at 0": Refused(
        ProducerGap, lambda log: log.commit(b"x", number=number(3, epoch=6))
    ),
    "an older producer epoch": Refused(ProducerFenced, lambda log: log.commit(b"x", number=number(3, epoch=4))),
    "a producer too many": Refused(LimitExceeded, lambda log: log.commit(b"x", number=number(0, producer="q"))),
    "replacement that is not UTF-8": Refused(DeltaError, lambda log: log.replace(b"\xff", epoch=2)),
    "replacement in the old epoch": Refused(DeltaError, lambda log: log.replace(b"x", epoch=FIRST_EPOCH)),
}
SEALED = {
    "an append": Refused(ResourceSealed, lambda log: log.commit(b"x")),
    "an append of nothing": Refused(ResourceSealed, lambda log: log.commit(b"")),
    "the other seal": Refused(ResourceSealed, lambda log: log.commit(b"", seal="aborted")),
    "the seal with text": Refused(ResourceSealed, lambda log: log.commit(b"x", seal="complete")),
    "the next number": Refused(ResourceSealed, lambda log: log.commit(b"x", number=number(3))),
    "a new producer epoch": Refused(ResourceSealed, lambda log: log.commit(b"x", number=number(0, epoch=6))),
    "the right revision": Refused(ResourceSealed, lambda log: log.commit(b"x", expected_revision=4)),
    "replacement": Refused(ResourceSealed, lambda log: log.replace(b"x", epoch=2)),
}


@requirement("M3")
@requirement("SR-3.4")
@pytest.mark.parametrize("refused", OPEN.values(), ids=OPEN)
def test_a_refused_write_changes_nothing(refused: Refused) -> None:
    log = written_log()
    before = observed(log)

    for _ in range(2):
        with pytest.raises(refused.error):
            refused.write(log)

    assert observed(log) == before
    head = log.commit(b"end", number=number(3), seal="complete")
    assert head.position == Position(FIRST_EPOCH, 4, len(CONTENT) + 3)
    assert head.digest == f"sha-256=:{b64encode(sha256(CONTENT + b'end').digest()).decode()}:"


@requirement("M3")
@requirement("M6")
@requirement("SR-9.3")
@pytest.mark.parametrize("refused", SEALED.values(), ids=SEALED)
def test_after_the_seal_every_write_is_refused_and_changes_nothing(refused: Refused) -> None:
    log = written_log()
    log.commit(b"", seal="complete")
    before = observed(log)

    for _ in range(2):
        with pytest.raises(refused.error):
            refused.write(log)

    assert observed(log) == before


@requirement("SR-9.2")
def test_the_refusal_of_a_revision_says_the_actual_one() -> None:
    log = new_log(b"a", b"b")

    with pytest.raises(RevisionConflict) as caught:
        log.commit(b"x", expected_revision=1)

    assert (caught.value.expected, caught.value.actual) == (1, 2)
    assert log.commit(b"c", expected_revision=caught.value.actual).position.revision == 3
