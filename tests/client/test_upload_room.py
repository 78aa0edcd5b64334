"""Uploads that a server has no room for at the moment are told to come again; none is lost."""

from __future__ import annotations

from urllib.parse import urlencode

import anyio
import pytest
from requirement import requirement
from server.wire import URI, serving

from streamres import ConnectionLost, Limits, Producer

from .served import GatedStore
from .uploading import numbered, upload


@requirement("SR-12.3")
@pytest.mark.parametrize(
    ("limits", "limit"),
    [(Limits(uploads=3), "uploads"), (Limits(upload_bytes=30), "upload_bytes")],
    ids=["their number", "their bytes"],
)
async def test_where_the_store_is_slow_uploads_wait_and_those_without_room_are_to_come_again(
    limits: Limits, limit: str
) -> None:
    store = GatedStore(limits)
    async with serving(limits, store=store, upload=True) as wire:
        answers: list[int] = []

        async def append(seq: int) -> None:
            answers.append((await upload(wire, b"x" * 10, **numbered(0, producer=str(seq))))[0])

        async with anyio.create_task_group() as tasks:
            for seq in range(3):
                tasks.start_soon(append, seq)
            await store.until_asked(3)

            url = wire.url.replace("/mcp", "/upload?") + urlencode({"uri": URI})
            refused = await wire.http.post(url, content=b"y" * 10)
            assert (await upload(wire, method="GET"))[0] == 200, "to ask is free"
            assert answers == []
            store.gate.set()

        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        value = getattr(limits, limit)
        assert refused.json()["error"]["data"] == {"reason": "limit", "limit": limit, "value": value}
        assert answers == [200] * 3
        assert (await wire.read(None)).text == "x" * 30
        assert (await upload(wire, b"y"))[0] == 200, "what is answered takes no room"


@requirement("SR-12.3")
async def test_an_upload_that_is_alone_has_room_however_little_is_allowed() -> None:
    async with serving(Limits(upload_bytes=5), upload=True) as wire:
        assert (await upload(wire, b"more than five"))[0] == 200


async def test_a_producer_that_is_refused_for_the_moment_comes_again_when_it_was_told_to() -> None:
    limits = Limits(uploads=1)
    store = GatedStore(limits)
    waits: list[float] = []
    async with serving(limits, store=store, upload=True) as wire, anyio.create_task_group() as tasks:
        tasks.start_soon(upload, wire, b"first")
        await store.until_asked(1)

        def on_fault(exc: ConnectionLost, wait_s: float) -> None:
            assert "over the limit uploads = 1" in str(exc)
            waits.append(wait_s)
            store.gate.set()

        async with Producer(wire.url, URI, on_fault=on_fault) as producer:
            await producer.append(b" second")

        assert (await wire.read(None)).text == "first second"
    assert waits[0] >= 1
