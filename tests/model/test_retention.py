"""What a store forgets by itself, and what a reader with an old cursor is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from requirement import requirement

from streamres.limits import Limits
from streamres.model import KINDS, ResourceLog, Retention

if TYPE_CHECKING:
    from streamres.model import Kind, Position

URI = "build://7/log"


def change(kind: Kind, number: int) -> bytes:
    if kind == "json":
        return b'[{"op":"replace","path":"","value":"%06d"}]' % number
    return b"%06d\n" % number


@requirement("SR-3.5")
@requirement("SR-5.5")
@pytest.mark.parametrize("kind", KINDS)
def test_a_cursor_further_back_than_the_bytes_that_are_kept_is_expired(kind: Kind) -> None:
    size = len(change(kind, 0))
    log = ResourceLog(URI, epoch=1, kind=kind)
    retention = Retention(Limits(history_bytes=8 * size))
    positions: list[Position] = []
    for number in range(100):
        positions.append(log.commit(change(kind, number)).position)
        retention.apply(log, now=0.0)
        resets = [log.read(position).reset for position in positions]

        kept = [reset for reset in resets if reset is None]
        assert len(kept) >= min(len(positions), 8)
        assert len(kept) <= 8 + 8 // 4 + 1
        assert resets == ["expired"] * (len(resets) - len(kept)) + kept, "the newest are kept"


@requirement("SR-3.5")
@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_after_forgetting_is_the_whole_content(kind: Kind) -> None:
    log = ResourceLog(URI, epoch=1, kind=kind)
    first = log.commit(change(kind, 0)).position
    for number in range(1, 50):
        log.commit(change(kind, number))
    whole = b"".join(log.read().step.slices())  # type: ignore[union-attr]
    Retention(Limits(history_bytes=20)).apply(log, now=0.0)

    reading = log.read(first)

    assert (reading.reset, b"".join(reading.step.slices())) == ("expired", whole)  # type: ignore[union-attr]


@requirement("SR-3.5")
@given(
    steps=st.lists(st.tuples(st.floats(0, 50), st.booleans()), max_size=60),
    keep_s=st.floats(1, 100),
)
def test_a_cursor_of_the_head_is_good_for_the_seconds_promised(
    steps: list[tuple[float, bool]], keep_s: float
) -> None:
    log = ResourceLog(URI, epoch=1)
    retention = Retention(Limits(history_s=keep_s))
    now = 0.0
    seen: list[tuple[float, Position]] = []
    for waited, commits in steps:
        now += waited
        retention.apply(log, now)  # a read
        seen.append((now, log.head.position))
        if commits:
            log.commit(b"x")
            retention.apply(log, now)
            seen.append((now, log.head.position))
        for when, position in seen:
            if now - when < keep_s:
                assert log.read(position).reset is None


@requirement("SR-3.5")
@requirement("SR-4.5")
def test_a_cursor_expires_with_time_even_though_nothing_is_committed_and_the_heads_never_does() -> None:
    log = ResourceLog(URI, epoch=1)
    retention = Retention(Limits(history_s=60.0))
    old = log.commit(b"old").position
    retention.apply(log, 0.0)
    head = log.commit(b"new").position
    retention.apply(log, 1.0)

    retention.apply(log, 59.0)
    assert log.read(old).reset is None
    retention.apply(log, 62.0)
    assert log.read(old).reset == "expired"
    retention.apply(log, 1_000.0)
    assert log.read(head).reset is None


@requirement("SR-3.5")
def test_forgetting_by_time_goes_by_the_epoch_that_there_is() -> None:
    log = ResourceLog(URI, epoch=1)
    retention = Retention(Limits(history_s=60.0))
    for _ in range(5):
        log.commit(b"x")
    retention.apply(log, 0.0)
    log.replace(b"new", epoch=2)
    first = log.commit(b"1").position
    log.commit(b"2")

    retention.apply(log, 70.0)

    assert log.read(first).reset is None, "nothing of the new epoch is as old as that"


@requirement("SR-3.5")
def test_the_patches_that_are_kept_are_bounded_by_what_a_document_may_take() -> None:
    limits = Limits(json_bytes=10_000)
    log = ResourceLog(URI, epoch=1, kind="json", limits=limits)
    for number in range(5_000):
        log.commit(change("json", number))

    assert log.head.position.length - log.floor.length <= 10_000 + 10_000 // 4
