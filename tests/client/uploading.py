"""Writes to a server over HTTP, as any program makes them."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import anyio
from server.wire import URI

if TYPE_CHECKING:
    from server.wire import Wire


async def upload(
    wire: Wire, body: bytes = b"", uri: str = URI, method: str = "POST", **query: object
) -> tuple[int, Any]:
    url = wire.url.replace("/mcp", "/upload?") + urlencode({"uri": uri, **query})
    with anyio.fail_after(5):
        response = await wire.http.request(method, url, content=body)
    return response.status_code, response.json()


def numbered(seq: int, *, epoch: int = 1, producer: str = "p") -> dict[str, object]:
    return {"producer": producer, "epoch": epoch, "seq": seq}


def digest_of(content: bytes) -> str:
    return f"sha-256=:{b64encode(sha256(content).digest()).decode()}:"
