"""`streamres ls`: what a server has."""

from __future__ import annotations

import sys

import anyio
from rich.console import Console
from rich.table import Table

from streamres.cli import words
from streamres.client import Client, Listed
from streamres.errors import StreamresError


def ls(url: str) -> int:
    """Lists the resources, oldest first: a table for a person, lines with tabs for a program."""
    try:
        resources = anyio.run(_list, url)
    except StreamresError as exc:
        words.fail(str(exc))
        return words.FAILED
    if not sys.stdout.isatty():
        for listed in resources:
            print(*_cells(listed), sep="\t")
        return 0
    table = Table("URI", "kind", "state", "bytes", "revision", box=None, pad_edge=False)
    for listed in resources:
        table.add_row(*_cells(listed))
    Console().print(table)
    return 0


async def _list(url: str) -> list[Listed]:
    async with Client(url) as client:
        return await client.list()


def _cells(listed: Listed) -> tuple[str, ...]:
    size = "" if listed.size is None else str(listed.size)
    revision = "" if listed.revision is None else str(listed.revision)
    return listed.uri, listed.kind or "", listed.state or "", size, revision
