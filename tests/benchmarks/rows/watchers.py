"""Subscribers that wait: resident memory of the whole server, its sockets in the kernel not counted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from benchmarks.contestants import OURS
from benchmarks.control import raise_file_limit
from benchmarks.listeners import listening
from benchmarks.plan import MB
from benchmarks.process import running
from benchmarks.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.plan import Plan

BAR_MB: Final = 400

_URI: Final = "bench://log"
_SETTLE_S: Final = 0.5


def measure(plan: Plan) -> Iterator[Row]:
    """Gives the row; that they do wait, an update shows that reaches each of them."""
    raise_file_limit()
    with running(OURS) as (server,):
        server.tell("text", _URI, sizes=[])
        with listening(server, _URI, "cursor", plan.watchers) as watchers:
            time.sleep(_SETTLE_S)
            waiting = server.resident_bytes
            begin = time.perf_counter()
            watchers.update(plan.watchers, 0.0)
            told_s = time.perf_counter() - begin
    yield Row(
        name=f"memory with {plan.watchers:,} subscribers",
        ours=f"{waiting / MB:.0f} MB (told in {told_s:.2f} s)",
        bar=f"{BAR_MB} MB",
        met=waiting <= BAR_MB * MB,
    )
