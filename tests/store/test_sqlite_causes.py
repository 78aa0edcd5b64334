"""Causes in a file: kept through a restart, few rows for many revisions, and gone with what they belong to."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from requirement import requirement

from streamres.model import Position
from streamres.store.sqlite import SqliteStore, verify

from .scene import OTHER, URI, described, head_of

START = 0.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def rows(path: Path) -> list[tuple[int, int, str]]:
    db = sqlite3.connect(path)
    found = db.execute("SELECT first, last, cause FROM cause ORDER BY content, first").fetchall()
    db.close()
    return found


@requirement("SR-8.4.a")
@requirement("SR-4.2.b")
async def test_causes_outlive_a_restart_and_a_run_goes_on_in_its_row(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        start = (await store.create(described(URI))).position
        for cause in ("a", "a", None, "b"):
            await store.append(URI, b"x", cause=cause)
    for _ in range(3):
        async with SqliteStore.open(path) as store:
            await store.append(URI, b"x", cause="b")
            assert (await store.read(URI, start)).causes == ("a", "b")

    assert rows(path) == [(1, 2, "a"), (4, 7, "b")]
    assert list(verify(path)) == []


@requirement("SR-3.5")
@requirement("SR-2.4")
async def test_rows_go_with_the_history_and_the_content_that_they_belong_to(path: Path) -> None:
    now = START
    async with SqliteStore.open(path, clock=lambda: now) as store:
        for uri in (URI, OTHER):
            await store.create(described(uri))
            for count in range(10):
                await store.append(uri, b"x", cause=f"c{count // 2}")

        await store.compact(URI, 6)
        assert rows(path) == [(5, 6, "c2"), (7, 8, "c3"), (9, 10, "c4")] + [
            (2 * n + 1, 2 * n + 2, f"c{n}") for n in range(5)
        ]
        epoch = (await head_of(store)).position.epoch
        assert (await store.read(URI, Position(epoch, 6, 6))).causes == ("c3", "c4")

        await store.replace(URI, b"new")
        await store.append(URI, b"!", cause="new")
        await store.remove(OTHER)
        now = START + 100.0
        await store._write(lambda books: books.sweep(), 0)
        assert rows(path) == [(1, 1, "new")]
    assert list(verify(path)) == []


@requirement("S5")
async def test_what_is_made_again_in_one_transaction_has_its_own_causes(path: Path) -> None:
    async with SqliteStore.open(path) as store:
        await store.create(described(URI))

        def all_at_once(books: object) -> None:
            for cause in ("old", "new"):
                books.append(URI, b"x", None, None, None, None, described(URI), cause)  # type: ignore[attr-defined]
                if cause == "old":
                    books.remove(URI)  # type: ignore[attr-defined]

        await store._write(all_at_once, 0)
        position = (await head_of(store)).position
        assert (await store.read(URI, Position(position.epoch, 0, 0))).causes == ("new",)
        assert position.revision == 1
    assert list(verify(path)) == []
