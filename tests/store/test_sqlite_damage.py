"""A file that is damaged, or no store at all, is told by an error that says so; it is left as it is."""

from __future__ import annotations

import os
import random
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres.errors import ResourceError, StoreError
from streamres.model import Description
from streamres.store.sqlite import SqliteStore, verify

from .scene import OTHER, URI, content, described

if TYPE_CHECKING:
    from collections.abc import Callable


async def closed_store(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        await store.create(described(URI))
        await store.create(Description(uri=OTHER, name="plan", kind="json"), b'{"a": 1}')
        for count in range(40):
            await store.append(URI, b"%d " % count * 4_000)
            await store.append(OTHER, b'[{"op": "add", "path": "/a", "value": "%s"}]' % (b"x" * 4_000))


def overwritten(at: int, size: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(at)
            file.write(random.Random(at).randbytes(size))

    return damage


def cut_to(size: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, size)


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a text": (lambda path: path.write_text("not a database at all\n" * 100), "is damaged, keep a copy"),
    "a part of a header": (cut_to(99), "is damaged, keep a copy"),
    "a header and no more": (cut_to(4096), "is damaged, keep a copy"),
    "no header": (overwritten(0, 100), "is damaged, keep a copy"),
    "of something else": (foreign, "is a database of something else; choose another path"),
    "newer": (newer, r"is of a newer streamres \(version 999\); upgrade this one"),
    "a folder": (a_folder, "is a folder; name a file in it"),
}


@pytest.mark.parametrize(("damage", "said"), REFUSED.values(), ids=REFUSED)
async def test_what_is_no_store_is_refused_and_left_as_it_is(
    tmp_path: Path, damage: Callable[[Path], object], said: str
) -> None:
    path = tmp_path / "store.db"
    await closed_store(path)
    damage(path)
    before = path.read_bytes() if path.is_file() else None

    with pytest.raises(StoreError, match=said) as caught:
        async with SqliteStore.open(path):
            pass

    assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


async def test_a_folder_that_cannot_be_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreError, match=r"Not a directory|File exists"):
        async with SqliteStore.open(tmp_path / "file" / "store.db"):
            pass


async def everything(store: SqliteStore) -> None:
    """Reads and writes whatever there is; refusals are told by one sort of error."""
    for entry in await store.list(limit=10):
        await content(store, entry.description.uri)
    for uri in (URI, OTHER):
        await content(store, uri)
        await store.append(uri, b"" if uri == OTHER else b"more")
        await store.append(uri, b"", seal="complete")


@requirement("S1")
@pytest.mark.parametrize("part", range(10), ids=lambda part: f"{part} tenths")
@pytest.mark.parametrize("how", ["cut", "overwritten"])
async def test_whatever_is_damaged_is_an_error_that_says_so_or_is_found(
    tmp_path: Path, part: int, how: str
) -> None:
    path = tmp_path / "store.db"
    await closed_store(path)
    at = max(4096, path.stat().st_size * part // 10)
    (cut_to(at) if how == "cut" else overwritten(at, 3_000))(path)

    try:
        findings = list(verify(path))
        async with SqliteStore.open(path) as store:
            await everything(store)
    except (StoreError, ResourceError):
        return
    assert findings


@requirement("S2")
async def test_a_hole_in_the_content_is_an_error_and_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore.open(path) as store:
        await store.create(described(URI))
        for count in range(10):
            await store.append(URI, b"%d" % count)
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("DELETE FROM piece WHERE begin = 5")
        db.close()
        slices = (await store.read(URI)).step.slices()  # type: ignore[union-attr]

        assert next(slices) == b"01234"
        with pytest.raises(StoreError):
            next(slices)
