"""Runs cells, in the loop that they need, over works that are small."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

import anyio

from streamres.carriers import Carrier
from streamres.carriers.content import Append
from streamres.compare import FAULTS, Cell, WatchedLoop, Work, run_cell

LOOP = {"loop_factory": WatchedLoop}


def lines(count: int = 24, *, size: int = 40) -> Work:
    """Lines of a log, no two of which are the same."""
    random = Random(count)
    changes = [Append(f"{number:03} {random.randbytes(size).hex()[:size]}\n") for number in range(count)]
    return Work(
        id="lines",
        title="Lines",
        kind="text",
        changes=changes,
        at=[0.2 * number for number in range(1, count + 1)],
        end_at=0.2 * count + 0.1,
    )


def run(
    carrier: Carrier, work: Work, *faults: str, seed: int = 1, speed: float | None = None, fails: bool = False
) -> list[Cell]:
    """One cell for each fault."""

    async def cells() -> list[Cell]:
        return [await run_cell(carrier, work, FAULTS[fault], seed=seed, speed=speed) for fault in faults]

    found: Sequence[Cell] = anyio.run(partial(cells), backend_options=LOOP)
    assert fails or [cell.error for cell in found] == [None] * len(faults)
    return list(found)
