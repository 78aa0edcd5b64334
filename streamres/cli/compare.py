"""`streamres compare`: what each way of carrying output costs, and what it loses."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # noqa: TC003
from typing import TYPE_CHECKING, Annotated

import typer

from streamres.cli import words

if TYPE_CHECKING:
    from rich.console import Console

    from streamres.compare import Cell, Matrix, Overhead


def compare(
    carriers: Annotated[str, typer.Option(metavar="ID,…", help="Carriers to compare.", show_default="all")] = "",
    works: Annotated[str, typer.Option(metavar="ID,…", help="Works to carry.", show_default="all")] = "",
    faults: Annotated[str, typer.Option(metavar="ID,…", help="Faults to make.", show_default="all")] = "",
    work: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A recording of your own to carry, asciicast v2.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the works, and where faults hit.")] = 1,
    speed: Annotated[
        float | None,
        typer.Option(
            help="Let time go, so many times as fast as in the work; bytes then depend on the machine.",
            min=0.01,
            show_default="in steps: each change when the one before is over",
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write each cell as a line of JSON.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Say what there is, and run nothing.")] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="FILE",
            help="Run a command, given after --, in a terminal of its own, and record what it puts out.",
            show_default=False,
        ),
    ] = None,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND]", help="For --record.", show_default=False)
    ] = None,
) -> None:
    """Compare the ways to carry output that grows: one work, the same faults, real sockets.

    With the same seed the verdicts and bytes are the same. Exits with 1 where a carrier failed to run.
    """
    # Its libraries load only for this command.
    from rich.console import Console

    from streamres.compare import WIDTH, NotACast, Unknown, matrix, recorded
    from streamres.compare import record as record_command

    if (record is None) != (not command):
        raise typer.BadParameter("--record FILE goes with a command after --", param_hint="--record")
    if record is not None and command:
        raise typer.Exit(record_command(command, record))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)
    if list_:
        _list(console)
        return
    try:
        asked = matrix(
            carrier_ids=_ids(carriers),
            work_ids=_ids(works),
            fault_ids=_ids(faults),
            works=[] if work is None else [recorded(work)],
            seed=seed,
            speed=speed,
        )
    except (Unknown, NotACast, OSError) as exc:
        words.fail(str(exc))
        raise typer.Exit(words.FAILED) from exc
    try:
        cells, overhead = _run(asked, json)
    except KeyboardInterrupt as exc:
        raise typer.Exit(words.INTERRUPTED) from exc
    _show(console, asked, cells, overhead)
    raise typer.Exit(words.FAILED if any(cell.error for cell in cells) else 0)


def _run(asked: Matrix, path: Path | None) -> tuple[list[Cell], Overhead]:
    import anyio
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from streamres.compare import WatchedLoop, line, measure

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()

    async def run() -> tuple[list[Cell], Overhead]:
        cells: list[Cell] = []
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("how much the comparison itself costs", total=asked.count)
            overhead = await measure()
            async for cell in asked.cells():
                cells.append(cell)
                progress.update(bar, advance=1, description=f"{cell.work} {cell.fault} {cell.carrier}")
        return cells, overhead

    cells, overhead = anyio.run(run, backend_options={"loop_factory": WatchedLoop})
    if path is not None:
        path.write_bytes(b"".join(map(line, cells)))
    return cells, overhead


def _show(console: Console, asked: Matrix, cells: list[Cell], overhead: Overhead) -> None:
    from streamres.carriers import lines_of
    from streamres.compare import tables

    lines = {carrier.id: lines_of(carrier) for carrier in asked.carriers}
    for table in tables(cells, asked.works, lines):
        console.print(table)
    for cell in cells:
        if cell.error is not None:
            console.print(f"{cell.carrier} failed with {cell.work}, {cell.fault}: {cell.error}", style="red")
    console.print(
        f"The comparison itself: the proxy adds {overhead.proxy_ms:.2f} ms to a request at the median, in the "
        f"times above; a change that nobody is told of takes {overhead.change_ms:.1f} ms of the run."
    )


def _list(console: Console) -> None:
    from streamres.carriers import carriers
    from streamres.compare import FAULTS, WORKS

    show = partial(console.print, soft_wrap=True)
    show("[bold]carriers[/]")
    for carrier in carriers().values():
        show(f"  {carrier.id:18}{_first_line(carrier)}")
    show("[bold]works[/]")
    for name, make in WORKS.items():
        show(f"  {name:18}{make(1).title}")
    show("[bold]faults[/]")
    for name, fault in FAULTS.items():
        show(f"  {name:18}{fault.title}")


def _first_line(thing: object) -> str:
    return (type(thing).__doc__ or "").strip().partition("\n")[0]


def _ids(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]
