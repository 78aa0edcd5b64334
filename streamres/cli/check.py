"""`streamres check`: clause by clause, what of the note a server holds."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003
from typing import TYPE_CHECKING, Annotated, Final

import typer

from streamres.cli import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.check.writer import Act

CANNOT_RUN: Final = 2
"""Exit code where nothing was checked: no server, not MCP, or the extension is not declared."""


def check(
    url: Annotated[str, typer.Argument(help="The server, as http://127.0.0.1:8765/mcp.", show_default=False)],
    uri: Annotated[
        list[str] | None,
        typer.Option(help="A resource to use; repeatable.", show_default="those of the list"),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Clauses to check, as SR-5 or SR-5.5.a; repeatable.", show_default="all"),
    ] = None,
    upload: Annotated[
        str | None,
        typer.Option(
            help="URL that takes appends in the form of section 9; `none` writes nothing.",
            show_default="`upload` beside the endpoint, where it is offered",
        ),
    ] = None,
    append_command: Annotated[
        str | None,
        typer.Option(
            metavar="CMD",
            help="Shell command that appends its standard input to the resource $STREAMRES_URI.",
            show_default=False,
        ),
    ] = None,
    seal_command: Annotated[
        str | None, typer.Option(metavar="CMD", help="One that seals it as complete.", show_default=False)
    ] = None,
    replace_command: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="One that puts its input in place of all content.", show_default=False),
    ] = None,
    compact_command: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="One that makes the server forget the history.", show_default=False),
    ] = None,
    forbidden: Annotated[
        list[str] | None,
        typer.Option(metavar="URI", help="A resource that the server refuses; repeatable.", show_default=False),
    ] = None,
    replica: Annotated[
        str | None, typer.Option(metavar="URL", help="A second server over the same store.", show_default=False)
    ] = None,
    prefix: Annotated[
        str, typer.Option(metavar="URI", help="Where the check makes resources of its own.")
    ] = "check://streamres/",
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'NAME: VALUE'", help="HTTP header of every request; repeatable.", show_default=False
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option(help="Seconds to wait for a change that the check cannot make.", min=0)
    ] = 5.0,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, with the exact exchanges.")] = False,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also write DIR/<scenario>/checks.json, as the official conformance suite does.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Check a server against the note of streamable resources, clause by clause.

    Where the server takes uploads, or commands are given, the check makes resources and changes them; else
    it reads what is there. Exits with 0 where nothing failed, 1 where something did, 2 where it could not be run.
    """
    # Its libraries load only for this command.
    import anyio
    from rich.console import Console

    from streamres.check import CannotRun, Request, Waits, run
    from streamres.check.report import lines, machine_readable, write_results

    commands: dict[Act, str | None] = {
        "append": append_command,
        "seal": seal_command,
        "replace": replace_command,
        "compact": compact_command,
    }
    request = Request(
        url=url,
        uris=tuple(uri or ()),
        only=tuple(only or ()),
        upload=upload,
        commands={act: command for act, command in commands.items() if command is not None},
        forbidden=tuple(forbidden or ()),
        replica=replica,
        prefix=prefix,
        headers=_headers(header or []),
        waits=Waits(patience_s=patience),
    )
    console = Console(highlight=False, soft_wrap=True)
    try:
        with Console(stderr=True).status("checking") as status:
            findings = anyio.run(run, request, lambda clause: status.update(f"checking {clause}"))
    except CannotRun as exc:
        words.fail(str(exc))
        raise typer.Exit(CANNOT_RUN) from exc
    except KeyboardInterrupt as exc:
        raise typer.Exit(words.INTERRUPTED) from exc
    if as_json:
        sys.stdout.write(machine_readable(url, findings) + "\n")
    else:
        for line in lines(findings):
            console.print(line)
    if results is not None:
        write_results(results, url, findings)
    raise typer.Exit(words.FAILED if any(finding.status == "fail" for finding in findings) else 0)


def _headers(given: list[str]) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for line in given:
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or not line.isascii():
            raise typer.BadParameter("it looks like 'Authorization: Bearer …'", param_hint="--header")
        headers[name.strip()] = value.strip()
    return headers
