"""Several programs on one file: each sees what the others wrote, and a cursor of one is a cursor of all."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import anyio
import pytest
from requirement import requirement

from streamres import Client, Producer
from streamres.errors import ProducerGap, ResourceNotFound
from streamres.store.sqlite import SqliteStore, schema, verify

from .crash.test_kill import running
from .scene import OTHER, URI, content, described, head_of, number, text_of, uris

APPENDER = Path(__file__).parent / "crash" / "appender.py"


def appending(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(APPENDER), str(path), URI, name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@requirement("S1")
async def test_programs_that_open_a_new_file_at_once_append_each_line_once_and_in_order(tmp_path: Path) -> None:
    path, names, count = tmp_path / "store.db", "abcdef", 30

    processes = [appending(path, name, count) for name in names]
    ended = [process.communicate(timeout=60) for process in processes]

    assert [error for _, error in ended] == [""] * len(names)
    revisions = [int(revision) for said, _ in ended for revision in said.split()]
    assert sorted(revisions) == list(range(1, count * len(names) + 1)), "a revision was given twice, or to nobody"
    async with SqliteStore.open(path) as store:
        lines = (await content(store)).decode().splitlines()
    assert len(lines) == count * len(names)
    for name in names:
        assert [line for line in lines if line.startswith(name)] == [f"{name} {seq} é" for seq in range(count)]
    assert list(verify(path)) == []


async def test_a_file_that_another_program_makes_while_it_is_looked_at_is_no_stranger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other begins between two looks; it gets as far as it is let."""
    path = tmp_path / "store.db"
    other = threading.Thread(target=lambda: schema.open_file(path, writes=True).close())

    class Overtaken(sqlite3.Connection):
        def execute(self, sql: str, rest: tuple[object, ...] = ()) -> sqlite3.Cursor:
            if sql == "SELECT count(*) FROM sqlite_schema" and other.ident is None:
                other.start()
                other.join(timeout=0.2)
            return super().execute(sql, rest)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Overtaken))
    async with SqliteStore.open(path) as store:
        await store.create(described(URI), b"ours")
        assert await content(store) == b"ours"
    other.join()
    assert list(verify(path)) == []


@requirement("S3")
async def test_a_watch_is_woken_by_another_program_and_by_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore.open(path) as store, SqliteStore.open(path) as other:
        await store.create(described(URI))
        with store.watch([URI, OTHER], list_changed=True) as watch, anyio.fail_after(5):
            head = await other.append(URI, b"a")
            await watch.wait()
            assert watch.take() == {URI: head}
            assert not watch.take_list_changed(), "an append is no change of the list"

            head = await other.create(described(OTHER))
            await watch.wait()
            assert (watch.take(), watch.take_list_changed()) == ({OTHER: head}, True)

            await other.remove(OTHER)
            await watch.wait()
            assert (watch.take(), watch.take_list_changed()) == ({}, True)
            with pytest.raises(ResourceNotFound):
                await store.entry(OTHER)

            await store.append(URI, b"b")
            watch.take()
            store._lookout.find_news()
            assert not watch.marked, "told twice of what it wrote itself"


@requirement("S1")
@requirement("SR-9.1")
async def test_a_producer_that_changes_over_to_another_program_is_known_there(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore.open(path) as one, SqliteStore.open(path) as two:
        await one.create(described(URI))
        for seq in range(10):
            first = await (one, two)[seq % 2].append(URI, b"%d" % seq, number=number(seq))
            assert await (two, one)[seq % 2].append(URI, b"%d" % seq, number=number(seq)) == first
            assert await one.producer(URI, "p") == await two.producer(URI, "p")
        with pytest.raises(ProducerGap):
            await two.append(URI, b"x", number=number(11))
        since = (await head_of(one)).position
        await two.replace(URI, b"new")
        assert (await one.read(URI, since)).reset == "epoch"
        await one.append(URI, b" and on", number=number(10))
        assert await content(two) == b"new and on"
        assert await uris(two) == [URI]


@requirement("SR-4.2")
@requirement("S2")
async def test_cursors_of_one_server_are_good_at_another_and_both_follow_both(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with (
        socket.create_server(("127.0.0.1", 0)) as first_free,
        socket.create_server(("127.0.0.1", 0)) as second_free,
    ):
        ports = [int(free.getsockname()[1]) for free in (first_free, second_free)]
    with ExitStack() as stack:
        for port in ports:
            stack.enter_context(running(path, port))
        one, two = (f"http://127.0.0.1:{port}/mcp" for port in ports)
        pieces = [f"{count} é😀\n" * 50 for count in range(60)]
        whole: dict[str, str] = {}
        async with Client(one) as first, Client(two) as second, anyio.create_task_group() as tasks:
            async with Producer(one, URI) as producer:
                await producer.append(pieces[0].encode())

            async def follow(name: str, client: Client) -> None:
                whole[name] = "".join([update.text async for update in client.follow(URI)])

            async def alternate() -> None:
                cursor: str | None = None
                text = ""
                while True:
                    for client in (first, second):
                        update = await client.read(URI, cursor, max_bytes=5_000)
                        assert cursor is None or update.since == cursor, "not a cursor of both"
                        text, cursor = text + update.text, update.cursor
                        if update.sealed:
                            whole["alternating"] = text
                            return

            tasks.start_soon(follow, "first", first)
            tasks.start_soon(follow, "second", second)
            tasks.start_soon(alternate)
            with anyio.fail_after(60):
                async with Producer(one, URI) as ours, Producer(two, URI) as theirs:
                    for count, piece in enumerate(pieces[1:]):
                        await (ours, theirs)[count % 2].append(piece.encode())
                    await theirs.seal()

    assert whole == dict.fromkeys(("first", "second", "alternating"), "".join(pieces))
    assert list(verify(path)) == []


@requirement("SR-6.2")
async def test_a_mark_never_goes_back_whoever_tells_first(tmp_path: Path) -> None:
    """The batch is on the disk before the loop hears of it: what looks at the file may know of later ones."""
    async with SqliteStore.open(tmp_path / "store.db") as store:
        await store.create(described(URI))
        told = store._lookout.told
        late: list[tuple[object, ...]] = []
        store._writer._told = lambda *news: late.append(news)
        with store.watch([URI]) as watch:
            await store.append(URI, b"a")
            head = await store.replace(URI, b"b")
            store._lookout.find_news()
            assert watch.take() == {URI: head}
            for news in late:
                told(*news)  # type: ignore[arg-type]
                assert watch.take().get(URI, head) == head
        late.clear()
        with store.watch([], list_changed=True) as watch:
            await store.create(described(OTHER))
            store._lookout.find_news()
            assert watch.take_list_changed()
            for news in late:
                told(*news)  # type: ignore[arg-type]
            assert not watch.take_list_changed(), "told twice of one change of the list"
        reading = await store.read(URI, head.position)
        assert text_of(reading) == b""
