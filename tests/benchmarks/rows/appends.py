"""One append in the server's process, with nobody listening.

The official server has no log to append to. Its nearest is to publish an update on its bus, which keeps no text.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.contestants import DEFAULT, OURS
from benchmarks.process import running
from benchmarks.row import Contender, Row, ratio_row, take_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.plan import Plan
    from benchmarks.process import ServerProcess


def measure(plan: Plan) -> Iterator[Row]:
    """Gives the row."""
    with running(OURS, DEFAULT) as servers:
        contenders = []
        for server in servers:
            server.tell("text", "bench://log", sizes=[])
            contenders.append(Contender(server, partial(_append, server, plan.appends)))
        take_turns(contenders, plan.rounds)
    ours, official = contenders
    yield ratio_row("append (official: publish)", ours, default=official)


def _append(server: ServerProcess, count: int) -> int:
    server.tell("publish", "bench://log", count=count, pause_s=0)
    return count
