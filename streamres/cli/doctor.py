"""`streamres doctor`: reads all of a store in one file, and says what is wrong with it."""

from __future__ import annotations

from typing import Annotated

import typer

from streamres.cli import words
from streamres.errors import StoreError


def doctor(
    store: Annotated[
        str | None, typer.Argument(help="The file, as PATH or sqlite:PATH.", show_default="your own")
    ] = None,
) -> None:
    """Read all that a store keeps and say what is wrong with it, a line a finding.

    A server may go on writing to it meanwhile; nothing is changed. Exits with 1 where something is wrong.
    """
    from streamres.cli.keeping import default_store
    from streamres.store.sqlite import verify

    path = (store or default_store()).removeprefix("sqlite:")
    findings = 0
    try:
        for finding in verify(path):
            findings += 1
            print(finding, flush=True)
    except StoreError as exc:
        words.fail(str(exc))
        raise typer.Exit(words.FAILED) from exc
    if findings:
        words.fail(
            f"{findings} finding{'' if findings == 1 else 's'} in {path}; keep a copy of it and of {path}-wal"
        )
        raise typer.Exit(words.FAILED)
    words.say(f"nothing is wrong with {path}")
