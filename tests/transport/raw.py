"""One TCP connection under the test's own hand: bytes out, an HTTP response in."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from server.wire import headers_for, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from anyio.abc import SocketStream


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.body)


class RawConnection:
    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._buffer = b""

    async def send(self, data: bytes) -> None:
        with anyio.fail_after(5):
            await self.stream.send(data)

    async def until(self, mark: bytes) -> bytes:
        """Everything up to and with `mark`."""
        with anyio.fail_after(5):
            while mark not in self._buffer:
                self._buffer += await self.stream.receive()
        before, _, self._buffer = self._buffer.partition(mark)
        return before + mark

    async def response(self) -> Response:
        """The next response, which says its length."""
        head = (await self.until(b"\r\n\r\n")).decode("latin-1")
        status_line, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        length = int(headers["content-length"])
        with anyio.fail_after(5):
            while len(self._buffer) < length:
                self._buffer += await self.stream.receive()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return Response(int(status_line.split()[1]), headers, body)

    async def is_closed(self) -> bool:
        """Waits for the peer to close, and says that it did."""
        with anyio.fail_after(5):
            try:
                while True:
                    await self.stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return True

    def cut(self) -> None:
        """Closes at once, without a word."""
        self.stream._transport.abort()  # type: ignore[attr-defined]


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[RawConnection]:
    target = httpx2.URL(url)
    assert target.port is not None
    async with await anyio.connect_tcp(target.host, target.port) as stream:
        yield RawConnection(stream)


def head_of(headers: Mapping[str, str], *, path: str = "/mcp") -> bytes:
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def request(method: str, params: Mapping[str, Any], **headers: str) -> bytes:
    """A whole HTTP request."""
    body = message(method, params)
    base = {"host": "localhost", **headers_for(method, params), "content-length": str(len(body))}
    return head_of({**base, **headers}) + body


PING = request("ping", {}, **{"mcp-protocol-version": "2025-06-18"})
