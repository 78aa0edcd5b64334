"""The little of HTTP/1.1 that the load reads: a head, and a body by its length or in chunks."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio

TIMEOUT_S: Final = 60.0
_HEAD_END: Final = b"\r\n\r\n"
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
_NO_CONTENT: Final = 204


def connect(port: int) -> socket.socket:
    """Gives a connection to a contestant."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def receive(sock: socket.socket) -> bytes:
    """Gives one whole answer as it came, head and framing included."""
    answer = bytearray()
    while _HEAD_END not in answer:
        answer += _more(sock)
    begin = answer.index(_HEAD_END) + len(_HEAD_END)
    length = _content_length(bytes(answer[:begin]))
    if length is None:
        # Messages are JSON, which has no line end of its own: this is the last chunk's.
        while not answer.endswith(_LAST_CHUNK):
            answer += _more(sock)
    else:
        while len(answer) < begin + length:
            answer += _more(sock)
    return bytes(answer)


async def receive_from(reader: asyncio.StreamReader) -> bytes:
    """Gives one whole answer as it came, head and framing included."""
    head = await reader.readuntil(_HEAD_END)
    length = 0 if status(head) == _NO_CONTENT else _content_length(head)
    if length is not None:
        return head + await reader.readexactly(length)
    answer = bytearray(head)
    while not answer.endswith(_LAST_CHUNK):
        size = await reader.readuntil(b"\r\n")
        answer += size + await reader.readexactly(int(size, 16) + len(b"\r\n"))
    return bytes(answer)


def status(answer: bytes) -> int:
    """Gives the status of an answer."""
    return int(answer[len("HTTP/1.1 ") :][:3])


def message(answer: bytes) -> dict[str, Any]:
    """Gives the JSON-RPC message of an answer that is JSON."""
    decoded: dict[str, Any] = json.loads(body(answer))
    return decoded


def body(answer: bytes) -> bytes:
    """Gives the body of an answer, or what there is of it."""
    head, _, framed = answer.partition(_HEAD_END)
    return framed if _content_length(head + _HEAD_END) is not None else _dechunked(framed)


def _dechunked(framed: bytes) -> bytes:
    chunks = []
    at = 0
    while (end := framed.find(b"\r\n", at)) > 0:
        size = int(framed[at:end], 16)
        chunks.append(framed[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return b"".join(chunks)


def _content_length(head: bytes) -> int | None:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return None


def _more(sock: socket.socket) -> bytes:
    received = sock.recv(1024 * 1024)
    if not received:
        raise ConnectionError("the server closed the connection before its answer was whole")
    return received
