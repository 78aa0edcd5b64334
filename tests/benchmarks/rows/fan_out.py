"""Updates to many subscribers, by the frame: as cursors, and with the deltas inside.

The official server's frame is its own, the same in both of its modes. It names the URI only: its reader has yet to
ask for what changed.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final

from benchmarks.contestants import DEFAULT, OURS
from benchmarks.control import raise_file_limit
from benchmarks.listeners import listening
from benchmarks.process import running
from benchmarks.row import Contender, Row, ratio_row, take_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.plan import Plan

_PAUSE_S: Final = 10e-6
"""Between two updates, for each subscriber: an update finds the one before it sent, and the server still warm."""


def measure(plan: Plan) -> Iterator[Row]:
    """Gives two rows for each audience."""
    raise_file_limit()
    with running(OURS, DEFAULT) as (ours, official):
        for audience in plan.audiences:
            audiences = [
                (ours, f"bench://{audience}/cursors", "cursor"),
                (ours, f"bench://{audience}/deltas", "delta"),
                (official, f"bench://{audience}/updates", None),
            ]
            with ExitStack() as stack:
                contenders = []
                for server, uri, deliver in audiences:
                    server.tell("text", uri, sizes=[])
                    listeners = stack.enter_context(listening(server, uri, deliver, audience))
                    work = partial(listeners.update, plan.frames, _PAUSE_S * audience)
                    contenders.append(Contender(server, work))
                take_turns(contenders, plan.rounds)
            cursors, deltas, updates = contenders
            name = f"frame to {audience:,} subscribers"
            yield ratio_row(f"{name}, cursor", cursors, default=updates, barred=True)
            yield ratio_row(f"{name}, delta", deltas, default=updates, barred=True)
