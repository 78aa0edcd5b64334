"""How much is measured: the sizes of one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KB: Final = 1024
MB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The counts of one run. What a row measures is the same in every plan, how often is not."""

    rounds: int = 31
    """Times that the contestants take turns; many and short ones, because other load comes and goes."""
    small_reads: int = 400
    """Requests of a turn, for answers of 1 KB."""
    large_reads: int = 24
    """Requests of a turn, for answers of 1 MB."""
    frames: int = 3_000
    """Notifications of a turn, over all subscribers."""
    appends: int = 5_000
    """Appends of a turn."""
    audiences: tuple[int, int] = (100, 1_000)
    """Subscribers to fan out to."""
    crowd: int = 1_000
    """Subscribers whose memory is measured."""
    log_bytes: int = 100 * MB
    """Length of the long log."""
    late_reads: int = 5
    """Times that the long log is read from its beginning."""
    stored_bytes: int = 1024 * MB
    """Length of the log in a file."""
    watchers: int = 10_000
    """Subscribers of one server that wait for something."""
    append_s: float = 2.0
    """Seconds that the producers of durable appends take a turn for."""
    append_rounds: int = 5
    """Turns of each contestant there."""
    document_bytes: int = MB
    """Size of the document."""
    patches: int = 10_000
    """Small patches to it."""
    growths: int = 10_000
    """Appends of 20 bytes to one string."""
    growth_reads: int = 1_000
    """Reads while it grows."""


FULL: Final = Plan()
QUICK: Final = Plan(
    rounds=7,
    small_reads=200,
    large_reads=16,
    frames=2_000,
    late_reads=2,
    stored_bytes=200 * MB,
    append_s=1.0,
    append_rounds=1,
)
TINY: Final = Plan(
    rounds=2,
    small_reads=16,
    large_reads=8,
    frames=20,
    appends=20,
    audiences=(5, 10),
    crowd=20,
    log_bytes=4 * MB,
    late_reads=1,
    stored_bytes=4 * MB,
    watchers=50,
    append_s=0.2,
    append_rounds=1,
    document_bytes=100 * KB,
    patches=300,
    growths=200,
    growth_reads=10,
)
"""Shows that the command works, and nothing else."""
