"""The table that is printed."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.row import Row

_VERDICT: Final = {None: "", True: "[green]pass[/]", False: "[red]miss[/]"}


def table(rows: Iterable[Row]) -> Table:
    """Gives the table of all rows."""
    official = f"official {version('mcp')}"
    shown = Table(
        title="Server CPU as a multiple of streamres (median of turns ± standard error)",
        caption="In brackets the CPU time of one. A bar is for the column of streamres.",
    )
    shown.add_column("")
    shown.add_column("streamres", justify="right")
    shown.add_column(f"{official}, JSON answers", justify="right")
    shown.add_column(f"{official}, default", justify="right")
    shown.add_column("bar", justify="right")
    shown.add_column("")
    for row in rows:
        shown.add_row(row.name, row.ours, row.json, row.default, row.bar, _VERDICT[row.met])
    return shown
