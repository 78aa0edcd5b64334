"""What goes wrong around a file: said clearly, nothing acknowledged that is not kept, and then on it goes."""

from __future__ import annotations

import os
import resource
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest
from requirement import requirement

from streamres import Client, Producer
from streamres.errors import StoreError
from streamres.store.sqlite import SqliteStore, schema, verify
from streamres.store.sqlite import store as store_module

from .crash.test_kill import running
from .scene import OTHER, URI, content, described, head_of, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.errors import ConnectionLost

NOBODY = 65534


async def limit_pages(store: SqliteStore, pages: int) -> None:
    """Lets the file grow to so many pages, as a disk does that is full then."""
    await store._write(lambda books: books._db.execute(f"PRAGMA max_page_count = {pages}").fetchone(), 0)


@requirement("S1")
async def test_on_a_full_disk_nothing_is_acknowledged_that_is_not_kept_and_on_it_goes(tmp_path: Path) -> None:
    acknowledged = 0
    async with SqliteStore.open(tmp_path / "store.db") as store:
        await store.create(described(URI))
        await limit_pages(store, 60)
        with store.watch([URI]) as watch:
            refused: StoreError | None = None
            while refused is None:
                watch.take()
                try:
                    await store.append(URI, b"%5d\n" % acknowledged * 500, number=number(acknowledged))
                except StoreError as exc:
                    refused = exc
                else:
                    acknowledged += 1
            assert str(refused).endswith("full; free some space, nothing of this write was kept")
            assert not watch.marked
        kept = b"".join(b"%5d\n" % count * 500 for count in range(acknowledged))
        assert await content(store) == kept
        assert (await head_of(store)).position.revision == acknowledged

        await limit_pages(store, 1_000_000)
        for count in (acknowledged, acknowledged, acknowledged + 1):
            await store.append(URI, b"%5d\n" % count * 500, number=number(count))
        assert await content(store) == kept + b"".join(b"%5d\n" % (acknowledged + more) * 500 for more in (0, 1))
    assert acknowledged > 20
    assert list(verify(tmp_path / "store.db")) == []


@requirement("S1")
@requirement("SR-9.1")
async def test_a_server_whose_disk_is_full_answers_503_and_its_producer_loses_nothing(
    tmp_path: Path, free_port: int
) -> None:
    path, url = tmp_path / "store.db", f"http://127.0.0.1:{free_port}/mcp"
    full = anyio.Event()
    pushed: list[bytes] = []

    def on_fault(fault: ConnectionLost, wait_s: float) -> None:
        full.set()

    async def push() -> None:
        async with Producer(url, URI, on_fault=on_fault) as producer:
            while not full.is_set() or len(pushed) % 10:
                pushed.append(b"%5d\n" % len(pushed) * 3_000)
                await producer.append(pushed[-1])
            await producer.seal()

    with running(path, free_port) as server, anyio.fail_after(60):
        # The kernel refuses to let any file of the process grow beyond this.
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (2_000_000, resource.RLIM_INFINITY))
        async with anyio.create_task_group() as tasks, Client(url) as client, httpx2.AsyncClient() as http:
            tasks.start_soon(push)
            await full.wait()
            upload = url.replace("/mcp", "/upload")
            refused = await http.post(upload, params={"uri": OTHER}, content=b"x" * 100_000)
            assert refused.status_code == 503
            assert "nothing of this write was kept" in refused.json()["error"]["message"]
            assert (await client.read(URI)).data == b"".join(pushed[:-1])
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            whole = b"".join([update.data async for update in client.follow(URI)])

    assert whole == b"".join(pushed)
    assert list(verify(path)) == []


@contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of root, which may write to everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def folder_of_nobody() -> Iterator[Path]:
    with TemporaryDirectory(prefix="streamres-") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield folder


async def append_to(path: Path, data: bytes) -> None:
    async with SqliteStore.open(path) as store:
        await store.append(URI, data)


@pytest.mark.parametrize("closed", ["file", "folder"])
async def test_what_may_not_be_written_is_said_so_and_its_content_stays(closed: str) -> None:
    with folder_of_nobody() as folder, nobody():
        path = folder / "store.db"
        async with SqliteStore.open(path) as store:
            await store.create(described(URI))
            await store.append(URI, b"kept")
        (path if closed == "file" else folder).chmod(0o555)
        with pytest.raises(StoreError, match="look at the permissions of the file and its folder"):
            await append_to(path, b"lost")
        (path if closed == "file" else folder).chmod(0o755)

        async with SqliteStore.open(path) as store:
            await store.append(URI, b" and on")
            assert await content(store) == b"kept and on"


@requirement("S1")
@requirement("S3")
async def test_a_lock_that_is_held_too_long_refuses_the_write_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "BUSY_S", 0.05)
    monkeypatch.setattr(store_module, "SWEEP_S", store_module.POLL_S)
    now = 1000.0
    path = tmp_path / "store.db"
    async with SqliteStore.open(path, clock=lambda: now) as store, SqliteStore.open(path) as second:
        await store.create(described(URI))
        await store.append(URI, b"a", number=number(0))
        await store.replace(URI, b"b")
        now += 1000.0  # from now on there is something to sweep, and the sweep is refused as well
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            with pytest.raises(
                StoreError, match="another program holds it, end that or give it a file of its own"
            ):
                await store.append(URI, b"c", number=number(1))
            await anyio.sleep(store_module.POLL_S)
        assert await content(store) == b"b"
        holder.execute("ROLLBACK")
        holder.close()

        with store.watch([URI]) as watch, anyio.fail_after(5):
            await second.append(URI, b"c", number=number(1))
            await watch.wait()
        assert (await store.append(URI, b"c", number=number(1))).position.revision == 1
        assert await content(store) == b"bc"


async def test_what_is_read_after_the_store_was_closed_is_an_error_of_the_store(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "store.db") as store:
        await store.create(described(URI))
        await store.append(URI, b"a" * 200_000)
        reading = await store.read(URI)

    with pytest.raises(StoreError):
        list(reading.step.slices())  # type: ignore[union-attr]
    with pytest.raises(StoreError):
        await store.read(URI)
    with pytest.raises(StoreError, match="was closed"):
        await store.append(URI, b"b")
