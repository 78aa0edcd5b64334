"""`streamres gc`: what a store keeps is made less, the oldest first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import anyio
import typer

from streamres.cli import words
from streamres.errors import StoreError

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SIZES: Final = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def _seconds(value: str) -> float:
    return _amount(value, _UNITS, "30d, 12h, 90m or 45s")


def _bytes(value: str) -> int:
    return int(_amount(value, _SIZES, "10GB, 500MB, 20KB or 1000"))


def _amount(value: str, units: dict[str, int], like: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([A-Za-z]*)", value)
    if found is None or found[2] not in units:
        raise typer.BadParameter(f"{value!r} does not look like {like}")
    return float(found[1]) * units[found[2]]


def gc(
    store: Annotated[
        str | None, typer.Argument(help="The file, as PATH or sqlite:PATH.", show_default="your own")
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(parser=_seconds, metavar="AGE", help="Keep what changed since; as 30d.", show_default="all"),
    ] = None,
    keep_bytes: Annotated[
        int | None,
        typer.Option(parser=_bytes, metavar="SIZE", help="Keep so much at most; as 10GB.", show_default="all"),
    ] = None,
) -> None:
    """Remove resources that are sealed, the oldest first, and give their space back to the disk.

    What is still written to always stays. A server may go on with the store meanwhile.
    """
    from streamres.cli.keeping import default_store

    if keep is None and keep_bytes is None:
        raise typer.BadParameter("nothing to remove: give --keep or --keep-bytes")
    path = (store or default_store()).removeprefix("sqlite:")
    try:
        if not Path(path).expanduser().exists():
            raise StoreError(f"there is no file {path}")
        removed = anyio.run(_collect, path, keep, keep_bytes)
    except StoreError as exc:
        words.fail(str(exc))
        raise typer.Exit(words.FAILED) from exc
    for uri in removed:
        print(uri)
    words.say(f"removed {len(removed)} resource{'' if len(removed) == 1 else 's'} of {path}")


async def _collect(path: str, keep_s: float | None, keep_bytes: int | None) -> list[str]:
    from streamres.store.sqlite import SqliteStore

    async with SqliteStore.open(path) as store:
        return await store.collect(keep_s=keep_s, keep_bytes=keep_bytes)
