"""A reader that is slow, while what it reads is replaced, removed, swept: the old bytes to the end, or a cut."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest
from requirement import requirement
from server.wire import envelope, headers_for, message, serving
from transport.stdio_peer import talking

from streamres import Client, Limits, Server
from streamres.errors import StoreError
from streamres.model import KINDS, Append, Description, Kind, Position, Snapshot
from streamres.store.sqlite import SqliteStore

from .scene import URI, head_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

PART = "".join(f"{count} é😀\n" for count in range(20_000)).encode()
"""Some 270 KB: a dozen slices take four of them."""


class Clocked:
    """A store whose time is told it."""

    def __init__(self, store: SqliteStore, move: Callable[[float], None]) -> None:
        self.store = store
        self.move = move

    async def sweep(self) -> None:
        """Lets so much time pass that replaced content goes."""
        self.move(1_000)
        await self.store._write(lambda books: books.sweep(), 0)


@asynccontextmanager
async def clocked(path: Path) -> AsyncIterator[Clocked]:
    now = 1_000.0

    def move(by: float) -> None:
        nonlocal now
        now += by

    async with SqliteStore.open(path, Limits(), clock=lambda: now) as store:
        yield Clocked(store, move)


async def replaced(clocked: Clocked) -> None:
    await clocked.store.replace(URI, b'"new"')


async def replaced_and_swept_at_once(clocked: Clocked) -> None:
    """A sweep comes when it comes: what was replaced a moment ago is still read."""
    await replaced(clocked)
    await clocked.store._write(lambda books: books.sweep(), 0)


async def replaced_and_swept(clocked: Clocked) -> None:
    await replaced(clocked)
    await clocked.sweep()


async def removed_and_swept(clocked: Clocked) -> None:
    await clocked.store.remove(URI)
    await clocked.sweep()


async def removed_swept_and_made_again(clocked: Clocked) -> None:
    await removed_and_swept(clocked)
    await clocked.store.create(Description(uri=URI, name="other"), b"X" * 2_000_000)


async def appended_and_joined(clocked: Clocked) -> None:
    kind = (await clocked.store.entry(URI)).description.kind
    for _ in range(40):
        what = b'[{"op":"replace","path":"","value":1}]' if kind == "json" else b"more\n" * 1_000
        await clocked.store.append(URI, what)


Change = Callable[[Clocked], Awaitable[object]]

CUTTING: list[Change] = [replaced_and_swept, removed_and_swept, removed_swept_and_made_again]
"""Those after which what is left of the old content is not there any more."""
CHANGES: list[Change] = [replaced, replaced_and_swept_at_once, appended_and_joined, *CUTTING]


async def fill(store: SqliteStore, kind: Kind) -> bytes:
    await store.create(Description(uri=URI, name="log", kind=kind))
    if kind == "json":
        value = '"' + "é😀" * 50_000 + '"'
        await store.append(URI, f'[{{"op":"add","path":"","value":[{value},{value}]}}]'.encode())
        return f"[{value},{value}]".encode()
    for _ in range(4):
        await store.append(URI, PART)
    return PART * 4


@requirement("M2")
@requirement("SR-3.1")
@pytest.mark.parametrize("after", [0, 5])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("since", [False, True], ids=["snapshot", "delta"])
async def test_a_walk_gives_the_bytes_of_its_revision_or_an_error(
    tmp_path: Path, kind: Kind, change: Change, after: int, since: bool
) -> None:
    async with clocked(tmp_path / "store.db") as store:
        whole = await fill(store.store, kind)
        begin = Position((await head_of(store.store)).position.epoch, 0, 0)
        reading = await store.store.read(URI, begin if since and kind != "json" else None)
        assert isinstance(reading.step, Snapshot | Append)
        slices = reading.step.slices()
        taken = [piece for _, piece in zip(range(after), slices, strict=False)]
        await change(store)
        cut = False
        try:
            taken += list(slices)
        except StoreError:
            cut = True

        assert whole.startswith(b"".join(taken))
        assert cut == (b"".join(taken) != whole)
        assert not cut or change in CUTTING


SLOW_PARTS = 80
"""Some 22 MB: more than the kernel holds between a server and a reader that does not read."""


async def slow_content(store: SqliteStore) -> None:
    for _ in range(SLOW_PARTS):
        await store.append(URI, PART)


@requirement("SR-3.1")
async def test_an_answer_over_http_whose_content_goes_meanwhile_is_cut(tmp_path: Path) -> None:
    async with clocked(tmp_path / "store.db") as store, serving(store=store.store) as wire:
        await slow_content(store.store)
        params = {"uri": URI, "_meta": envelope("fields")}
        request = {"content": message("resources/read", params), "headers": headers_for("resources/read", params)}
        whole = (await wire.http.post(wire.url, **request)).content  # type: ignore[arg-type]
        assert len(whole) > SLOW_PARTS * len(PART)
        got = bytearray()
        async with wire.http.stream("POST", wire.url, **request) as response:  # type: ignore[arg-type]
            chunks = response.aiter_raw()
            got += await anext(chunks)
            await replaced_and_swept(store)
            cut = False
            try:
                async for chunk in chunks:
                    got += chunk
            except httpx2.RemoteProtocolError:
                cut = True

        assert cut

        assert whole.startswith(got)
        assert len(got) < len(whole)
        assert (await wire.read(None)).text == '"new"', "the server goes on"


@requirement("SR-5.5")
async def test_a_follower_whose_page_is_cut_has_the_new_content(tmp_path: Path) -> None:
    async with clocked(tmp_path / "store.db") as store, serving(store=store.store) as wire:
        await slow_content(store.store)
        content = ""
        faults: list[object] = []
        async with Client(wire.url) as client:
            async for update in client.follow(
                URI, page_bytes=16 * 1024 * 1024, on_fault=lambda fault, wait_s: faults.append(fault)
            ):
                if content == "":
                    await replaced_and_swept(store)
                    await store.store.append(URI, b" and on", seal="complete")
                content = update.text if update.reset else content + update.text

        assert content == '"new" and on'


@requirement("SR-3.1")
async def test_a_peer_over_stdio_whose_answer_cannot_be_ended_is_ended(tmp_path: Path) -> None:
    async with clocked(tmp_path / "store.db") as store:
        server = Server("tested", store=store.store)
        await server.create(URI)
        await slow_content(store.store)
        async with talking(server=server) as talk:
            await talk.read()
            await talk.until_something_comes()
            await replaced_and_swept(store)
            heard = bytearray()
            with anyio.fail_after(10):
                while True:
                    await anyio.wait_readable(talk._of)
                    if not (data := os.read(talk._of, 1 << 20)):
                        break
                    heard += data
            await talk.until_ended()

        assert b"\n" not in heard, "a frame was ended that is not whole"
        assert 0 < len(heard) < SLOW_PARTS * len(PART)
        assert (await head_of(store.store)).state == "open"
