"""The comparison in a terminal: for each work what a carrier costs when nothing goes wrong, and what faults do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamres.compare.cell import Cell
    from streamres.compare.oracle import Verdict
    from streamres.compare.works import Work

WIDTH: Final = 120

_STYLES: Final[Mapping[str, str]] = {"exact": "green", "corrected": "yellow", "lost, said": "yellow"}
"""Of the words that are not bad: what is silently wrong is red."""


def tables(cells: Sequence[Cell], works: Sequence[Work], lines: Mapping[str, int]) -> Iterator[Table]:
    """Gives the tables of each work; `lines` is how long the code of each carrier is."""
    for work in works:
        of_work = [cell for cell in cells if cell.work == work.id]
        calm = [cell for cell in of_work if cell.fault == "none"]
        if calm:
            yield _costs(work, calm, lines)
        faults = [fault for fault in dict.fromkeys(cell.fault for cell in of_work) if fault != "none"]
        if faults:
            yield _faults(work, of_work, faults)


def _costs(work: Work, cells: Sequence[Cell], lines: Mapping[str, int]) -> Table:
    table = _table(f"{work.title}: {len(work.changes)} changes, {size(work.payload_bytes)}; nothing goes wrong")
    table.add_column("carrier")
    table.add_column("verdict")
    for name in ("down", "ratio", "up", "msgs", "reqs", "first", "stale p50", "p99", "CPU/chg", "memory", "lines"):
        table.add_column(name, justify="right")
    for cell in cells:
        meter, verdict = cell.meter, cell.verdict
        table.add_row(
            cell.carrier,
            _word(cell),
            size(meter.bytes_down),
            f"{meter.bytes_down / cell.payload_bytes:.2f}",
            size(meter.bytes_up),
            f"{meter.messages}",
            f"{meter.requests}",
            "-" if verdict is None else seconds(verdict.first_s),
            _quantile(verdict, 0.5),
            _quantile(verdict, 0.99),
            f"{cell.cpu_s / cell.changes * 1000:.2f} ms",
            size(cell.peak_bytes),
            f"{lines.get(cell.carrier, 0)}",
        )
    table.caption = "ratio: of bytes down to those of the changes; lines: code of the carrier, without libraries"
    return table


def _faults(work: Work, cells: Sequence[Cell], faults: Sequence[str]) -> Table:
    table = _table(f"{work.title}: faults")
    table.caption = (
        "under a verdict: how long until the copy was as new as the producer's, and bytes sent till then"
    )
    table.add_column("carrier", no_wrap=True)
    for fault in faults:
        table.add_column(fault)
    by_place = {(cell.carrier, cell.fault): cell for cell in cells}
    for carrier in dict.fromkeys(cell.carrier for cell in cells):
        row = [by_place.get((carrier, fault)) for fault in faults]
        table.add_row(carrier, *(Text() if cell is None else _fault(cell) for cell in row))
    return table


def _table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )


def _fault(cell: Cell) -> Text:
    text, verdict = _word(cell), cell.verdict
    if verdict is None:
        return text
    if verdict.recovery_s is not None and verdict.recovery_bytes is not None:
        text.append(f"\n{seconds(verdict.recovery_s)}, {size(verdict.recovery_bytes)}", style="dim")
    else:
        text.append(f"\n{verdict.seen} of {cell.changes}", style="dim")
    return text


def _word(cell: Cell) -> Text:
    if cell.verdict is None:
        return Text("failed", style="bold red")
    word = cell.verdict.word
    return Text(word, style=_STYLES.get(word, "bold red"))


def _quantile(verdict: Verdict | None, share: float) -> str:
    if verdict is None or not verdict.staleness_s:
        return "-"
    staleness = verdict.staleness_s
    return seconds(staleness[min(len(staleness) - 1, int(len(staleness) * share))])


def seconds(value: float | None) -> str:
    """Gives a time as people write it."""
    if value is None:
        return "-"
    if value < 0.01:
        return f"{value * 1000:.1f} ms"
    return f"{value * 1000:.0f} ms" if value < 0.1 else f"{value:.1f} s"


def size(value: int) -> str:
    """Gives a number of bytes as people write it."""
    for unit, least in (("MB", 1_000_000), ("kB", 1_000)):
        if value >= least:
            return f"{value / least:.{1 if value < 100 * least else 0}f} {unit}"
    return f"{value} B"
