"""The command: picks a plan, measures, prints the tables."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.plan import FULL, QUICK, TINY
from benchmarks.rows import MEASUREMENTS
from benchmarks.table import tables

if TYPE_CHECKING:
    from benchmarks.row import Row

_WIDTH = 150
"""Of a table that goes to a file."""


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="benchmarks",
        description="Server CPU and memory beside the official SDK, and durable appends beside other stores.",
    )
    plans = parser.add_mutually_exclusive_group()
    plans.add_argument(
        "--quick", dest="plan", action="store_const", const=QUICK, help="less often, in about two minutes"
    )
    plans.add_argument("--tiny", dest="plan", action="store_const", const=TINY, help="only to see that it works")
    parser.set_defaults(plan=FULL)
    plan = parser.parse_args(argv).plan
    progress = Console(stderr=True)
    rows: list[Row] = []
    with progress.status("measuring") as status:
        for measure in MEASUREMENTS:
            status.update(measure.__module__)
            rows += measure(plan)
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    console.print(*tables(rows))


if __name__ == "__main__":
    main()
