"""A file of an older version is brought to the newest, whole or not at all; one of a newer one is let alone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from requirement import requirement

from streamres.errors import StoreError
from streamres.model import AppendNumber, Position
from streamres.store.sqlite import SqliteStore, schema, verify

from .scene import content, head_of, text_of, uris

LOG, CORE, PLAN, PAGE = "build://7/log", "build://7/core", "build://7/plan", "build://7/page"
FIRST = Path(__file__).with_name("version_1.sql")

NOTES = """
    ALTER TABLE resource ADD COLUMN note TEXT;
    UPDATE resource SET note = 'of version 1';
"""


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A file of version 1."""
    path = tmp_path / "store.db"
    db = sqlite3.connect(path)
    db.executescript(FIRST.read_text())
    db.close()
    return path


def version_of(path: Path) -> int:
    db = sqlite3.connect(path)
    version = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    return int(version)


async def holds_all(path: Path) -> None:
    """What was kept in version 1 is there, and can be gone on with."""
    async with SqliteStore.open(path) as store:
        assert await uris(store) == [LOG, CORE, PLAN, PAGE]
        text = "compiling é\nlinking 😀\n".encode()
        assert await content(store, LOG) == text
        assert await content(store, CORE) == b"\x00\xff\x01\x02"
        assert await content(store, PLAN) == b'{"steps":[0,1,2]}'
        assert await content(store, PAGE) == "new é".encode()
        entry = await store.entry(LOG)
        assert (entry.description.title, entry.description.audience) == ("Log", ("user",))
        at = entry.head.position
        since = await store.read(LOG, Position(at.epoch, 1, 13))
        assert (text_of(since), since.reset) == (text[13:], None)
        again = AppendNumber(producer="p", epoch=3, seq=1)
        assert await store.append(LOG, "linking 😀\n".encode(), number=again) == entry.head
        assert (since.causes, entry.description.listed) == ((), True)
        on = AppendNumber(producer="p", epoch=3, seq=2)
        head = await store.append(LOG, b"on", number=on, cause="since version 2")
        assert (await store.read(LOG, at)).causes == ("since version 2",)
    async with SqliteStore.open(path) as store:
        assert (await store.read(LOG, Position(at.epoch, 1, 13))).causes == ("since version 2",)
        assert await head_of(store, LOG) == head
        await store.append(PLAN, b'[{"op":"add","path":"/steps/-","value":3}]')
        assert await content(store, PLAN) == b'{"steps":[0,1,2,3]}'


@requirement("SR-4.2")
async def test_a_file_of_the_first_version_is_opened_with_all_that_it_keeps(first: Path) -> None:
    await holds_all(first)

    assert version_of(first) == len(schema.MIGRATIONS)
    assert list(verify(first)) == []


async def test_a_file_is_brought_to_the_newest_version_once(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, NOTES))

    await holds_all(first)

    assert version_of(first) == len(schema.MIGRATIONS)
    async with SqliteStore.open(first) as store, SqliteStore.open(first):
        notes = store._db.execute("SELECT note FROM resource").fetchall()
    assert notes == [("of version 1",)] * 4


async def test_a_step_that_fails_leaves_the_file_as_it_was(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, NOTES + ";\nUPDATE absent SET x = 1"))
    with pytest.raises(StoreError, match="no such table: absent"):
        async with SqliteStore.open(first):
            pass
    assert version_of(first) == 1
    monkeypatch.undo()

    await holds_all(first)


async def test_a_program_that_is_older_than_the_file_is_refused(
    first: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it opens the file; and when a newer one takes the file over, at its next write."""
    async with SqliteStore.open(first) as older:
        await older.append(LOG, b"before")
        with monkeypatch.context() as newer:
            newer.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, NOTES))
            async with SqliteStore.open(first) as store:
                await store.append(LOG, b" and after")
        with pytest.raises(
            StoreError,
            match=rf"a newer streamres has taken over the file \(version {len(schema.MIGRATIONS) + 1}\)",
        ):
            await older.append(LOG, b"lost")
    with pytest.raises(
        StoreError, match=rf"of a newer streamres \(version {len(schema.MIGRATIONS) + 1}\); upgrade this one"
    ):
        async with SqliteStore.open(first):
            pass

    with monkeypatch.context() as newer:
        newer.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, NOTES))
        async with SqliteStore.open(first) as store:
            assert (await content(store, LOG)).endswith(b"before and after")
