"""What an idle subscriber costs: resident memory of the server, its sockets in the kernel not counted."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from benchmarks.contestants import DEFAULT, OURS
from benchmarks.control import raise_file_limit
from benchmarks.listeners import listening
from benchmarks.process import running
from benchmarks.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.plan import Plan
    from benchmarks.process import ServerProcess

BAR_KB: Final = 40

_FIRST: Final = 10
"""Subscribers before the first look: what only the first one costs is not memory per subscriber."""

_SETTLE_S: Final = 0.3


def measure(plan: Plan) -> Iterator[Row]:
    """Gives the row."""
    raise_file_limit()
    with running(OURS, DEFAULT) as servers:
        ours, official = (_subscriber_kb(server, plan.crowd) for server in servers)
    yield Row(
        name=f"memory of 1 of {plan.crowd:,} subscribers",
        ours=f"{ours:.1f} KB",
        default=f"{official:.1f} KB",
        bar=f"{BAR_KB} KB",
        met=ours <= BAR_KB,
    )


def _subscriber_kb(server: ServerProcess, count: int) -> float:
    uri = "bench://log"
    server.tell("text", uri, sizes=[])
    deliver = "cursor" if server.contestant is OURS else None
    with ExitStack() as stack:
        stack.enter_context(listening(server, uri, deliver, _FIRST))
        time.sleep(_SETTLE_S)
        before = server.resident_bytes
        crowd = stack.enter_context(listening(server, uri, deliver, count))
        crowd.update(count, 0.0)
        time.sleep(_SETTLE_S)
        return (server.resident_bytes - before) / count / 1024
