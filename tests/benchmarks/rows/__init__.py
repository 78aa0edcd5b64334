"""The measurements, one module each: a plan in, rows out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.rows import (
    appends,
    document,
    durable_appends,
    fan_out,
    long_log,
    reads,
    stored_log,
    subscriber_memory,
    watchers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Final

    from benchmarks.plan import Plan
    from benchmarks.row import Row

MEASUREMENTS: Final[list[Callable[[Plan], Iterator[Row]]]] = [
    reads.measure,
    fan_out.measure,
    appends.measure,
    subscriber_memory.measure,
    watchers.measure,
    long_log.measure,
    stored_log.measure,
    document.measure,
    durable_appends.measure,
]
"""In the order of the table."""
