"""`follow` of a blob through a network that cuts."""

from __future__ import annotations

from itertools import chain

from requirement import requirement

from streamres import Client, Server

from .proxy import Cut, cutting

URI = "build://7/image"
PIECES = [bytes([number]) * (number * 7 % 50) + b"\xff\x00\r\n" for number in range(200)]


@requirement("C3")
@requirement("SR-2.2")
@requirement("SR-3.4")
async def test_a_blob_is_exact_over_twenty_cuts() -> None:
    server = Server("blobs")
    image = await server.create(URI, kind="blob")
    pieces = iter(PIECES)
    cuts = list(chain.from_iterable((Cut(more=more), Cut(more=5_000)) for more in range(0, 1_000, 50)))
    seen = bytearray()
    async with server.serve(port=0) as url, cutting(url, cuts) as proxy, Client(proxy.url) as client:
        async for update in client.follow(URI):
            assert update.reset is None
            seen += update.blob
            piece = next(pieces, None)
            if piece is not None:
                await image.append(piece)
            elif image.state == "open":
                await image.seal()

    assert bytes(seen) == b"".join(PIECES)
    assert proxy.cuts >= 20
