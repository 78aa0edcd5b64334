"""Blobs on the wire: `blob` in base64 where a text has `text`."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres import Client, Server

if TYPE_CHECKING:
    from streamres import Update

URI = "build://7/image"
PNG = bytes(range(256))


async def two_reads(binding: str | None) -> tuple[dict[str, object], Update, Update]:
    """What plain MCP reads, a snapshot and the delta after it."""
    server = Server("blobs")
    image = await server.create(URI, kind="blob", mime_type="image/png")
    async with server.serve(port=0) as url, Client(url) as client:
        await image.append(PNG)
        snapshot = await client.read(URI)
        await image.append(b"\xff")
        await image.seal()
        return await client.discover(), snapshot, await client.read(URI, snapshot.cursor)


@requirement("SR-2.2")
@requirement("SR-5.2")
async def test_a_snapshot_and_a_delta_are_the_very_bytes() -> None:
    discovered, snapshot, delta = await two_reads("fields")

    assert (snapshot.kind, snapshot.blob, snapshot.since) == ("blob", PNG, None)
    assert (delta.kind, delta.blob, delta.since) == ("blob", b"\xff", snapshot.cursor)
    assert delta.state == "complete"
    assert "blob" in json.dumps(discovered["capabilities"])


@requirement("SR-10.1")
@requirement("SR-2.2")
async def test_plain_mcp_reads_a_blob_as_core_has_it() -> None:
    from .wire import envelope, headers_for, http_client, message

    server = Server("blobs")
    image = await server.create(URI, kind="blob", mime_type="image/png")
    await image.append(PNG)
    params = {"uri": URI, "_meta": envelope()}
    async with server.serve(port=0) as url, http_client() as http:
        answer = await http.post(
            url, content=message("resources/read", params), headers=headers_for("resources/read", params)
        )

    (item,) = answer.json()["result"]["contents"]
    assert item == {"uri": URI, "mimeType": "image/png", "blob": b64encode(PNG).decode()}


@requirement("SR-6.3")
@requirement("SR-2.2")
@pytest.mark.parametrize("size", [1, 65_536, 200_000])
async def test_a_subscriber_is_sent_the_bytes_in_a_chain(size: int) -> None:
    server = Server("blobs")
    image = await server.create(URI, kind="blob")
    data = (PNG * (size // 256 + 1))[:size]
    async with server.serve(port=0) as url, Client(url) as client:
        start = (await client.read(URI)).cursor
        async with client.listen({URI: start}, deliver="delta") as events:
            await image.append(data)
            await image.seal()
            updates = [event.update async for event in events]

    assert b"".join(update.blob for update in updates) == data
    assert [update.since for update in updates] == [start, *(update.cursor for update in updates[:-1])]
    assert updates[-1].sealed
