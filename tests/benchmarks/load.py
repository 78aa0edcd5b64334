"""The load of the reading rows: one request, many times, over connections that stay open.

The first answer is parsed and checked; every later one has to be the same bytes behind its head.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from benchmarks import http_answer

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from typing import Any

    from benchmarks.process import ServerProcess

CONNECTIONS: Final = 8
"""Requests on the way at once: the server always has one to serve, and none waits long."""


class WrongAnswer(AssertionError):
    """A server answered something else than it should; its time says nothing."""


class Load:
    """One prepared request to one server."""

    def __init__(
        self, sockets: list[socket.socket], request: bytes, check: Callable[[dict[str, Any]], None]
    ) -> None:
        self._sockets = sockets
        self._request = request
        sockets[0].sendall(request)
        first = http_answer.receive(sockets[0])
        if http_answer.status(first) != 200:
            raise WrongAnswer(first[:2_000].decode("latin-1"))
        check(http_answer.message(first)["result"])
        self._length = len(first)
        self._body = first[first.index(b"\r\n\r\n") :]
        self._buffer = memoryview(bytearray(len(first)))

    def send(self, count: int) -> int:
        """Makes `count` requests, in whole turns of all connections, and gives how many it made."""
        turns = max(1, count // len(self._sockets))
        for _ in range(turns):
            for sock in self._sockets:
                sock.sendall(self._request)
            for sock in self._sockets:
                self._receive(sock)
        return turns * len(self._sockets)

    def _receive(self, sock: socket.socket) -> None:
        filled = 0
        while filled < self._length:
            received = sock.recv_into(self._buffer[filled:])
            if not received:
                raise ConnectionError("the server closed a connection")
            filled += received
        if self._buffer[-len(self._body) :] != self._body or bytes(self._buffer[:12]) != b"HTTP/1.1 200":
            raise WrongAnswer(bytes(self._buffer[:2_000]).decode("latin-1"))


@contextmanager
def load(server: ServerProcess, request: bytes, check: Callable[[dict[str, Any]], None]) -> Iterator[Load]:
    """Connects to the server and has its first answer checked."""
    sockets = [http_answer.connect(server.port) for _ in range(CONNECTIONS)]
    try:
        yield Load(sockets, request, check)
    finally:
        for sock in sockets:
            sock.close()
