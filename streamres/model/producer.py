"""Numbered appends: what a producer may send again without a double, and what is refused (SR-9.1).

The numbers are kept with the content they led to, so both are changed in one step or not at all.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from streamres.errors import LimitExceeded, ProducerConflict, ProducerFenced, ProducerGap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WINDOW: Final = 64
"""Appends of one producer whose repeat is recognized; a producer has no more of them under way at once."""

AckT = TypeVar("AckT")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendNumber:
    """Names one append: `seq` counts from 0 in each `epoch` of `producer`; a restart takes a new epoch."""

    producer: str
    epoch: int
    seq: int


@dataclass(frozen=True, slots=True)
class ProducerStanding:
    """Where a producer stands: its newest epoch, and the number that is next there."""

    epoch: int
    next_seq: int


@dataclass(slots=True)
class _Track(Generic[AckT]):
    epoch: int
    next_seq: int = 0
    recent: deque[tuple[bytes, AckT]] = field(default_factory=lambda: deque(maxlen=WINDOW))


class Producers(Generic[AckT]):
    """The producers of one resource; `AckT` is what an append is acknowledged with."""

    def __init__(self, *, max_producers: int) -> None:
        self._tracks: dict[str, _Track[AckT]] = {}
        self._max_producers = max_producers

    def repeated(self, uri: str, number: AppendNumber, parts: Iterable[bytes]) -> AckT | None:
        """Gives the first acknowledgement of an append that was made before, None for the next in order.

        Raises:
            ProducerConflict: the number was used with other content, or so long ago that nobody can tell.
            ProducerGap: a number was left out.
            ProducerFenced: a newer epoch has written.
            LimitExceeded: one producer too many.
        """
        track = self._tracks.get(number.producer)
        if track is None:
            if len(self._tracks) >= self._max_producers:
                raise LimitExceeded("producers", self._max_producers, "let writers share a producer id")
            next_seq = 0
        elif number.epoch < track.epoch:
            raise ProducerFenced(uri, number.epoch, track.epoch)
        else:
            next_seq = track.next_seq if number.epoch == track.epoch else 0
        if number.seq > next_seq:
            raise ProducerGap(uri, number.seq, next_seq)
        if number.seq == next_seq:
            return None
        assert track is not None
        age = next_seq - number.seq
        if age <= len(track.recent):
            digest, acknowledgement = track.recent[-age]
            if digest == _digest(parts):
                return acknowledgement
        raise ProducerConflict(uri, number.seq, next_seq)

    def standing(self, producer: str) -> ProducerStanding | None:
        """Gives where a producer stands; None for one that never wrote."""
        track = self._tracks.get(producer)
        return None if track is None else ProducerStanding(track.epoch, track.next_seq)

    def track(self, producer: str) -> tuple[int, int, Sequence[tuple[bytes, AckT]]]:
        """Gives what is known of a producer: its epoch, the next number, and its last appends, by digest."""
        track = self._tracks[producer]
        return track.epoch, track.next_seq, track.recent

    def restore(self, producer: str, epoch: int, next_seq: int, recent: Iterable[tuple[bytes, AckT]]) -> None:
        """Takes up what a store has kept of a producer."""
        self._tracks[producer] = _Track(epoch, next_seq, deque(recent, maxlen=WINDOW))

    def record(self, number: AppendNumber, parts: Iterable[bytes], acknowledgement: AckT) -> None:
        """Remembers an append that was made; the caller has asked `repeated` in the same step."""
        track = self._tracks.get(number.producer)
        if track is None or track.epoch < number.epoch:
            track = self._tracks[number.producer] = _Track(number.epoch)
        track.next_seq = number.seq + 1
        track.recent.append((_digest(parts), acknowledgement))


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.digest()
