"""One server at the end of a link: HTTP without a socket, or two pipes. What it sends is bytes, and can be cut."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from streamres.transport import StdioPeer

if TYPE_CHECKING:
    from streamres import Server

Message = dict[str, Any]
_TURNS = 400


class Link(Protocol):
    """What a reader has of a server."""

    async def open(self) -> None:
        """Connects."""

    def send(self, message: Message) -> None:
        """Sends a request; what comes back comes with everything else."""

    async def settle(self) -> None:
        """Lets the server do all that it has to do."""

    def take(self) -> list[Message]:
        """Gives the messages that arrived whole since the last time."""

    def cut(self, keep: int) -> None:
        """Ends the connection after `keep` more bytes of what is on the way; the rest never arrives."""


class _Sent:
    """Bytes on the way, and the messages that they are at the other end."""

    def __init__(self, separator: bytes) -> None:
        self._separator = separator
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        self._bytes += data

    def take(self) -> list[Message]:
        *whole, rest = bytes(self._bytes).split(self._separator)
        self._bytes = bytearray(rest)
        return [message for part in whole if (message := _parsed(part)) is not None]

    def cut(self, keep: int) -> None:
        del self._bytes[keep:]


def _parsed(part: bytes) -> Message | None:
    data = part.partition(b"data: ")[2] if not part.startswith(b"{") else part
    return json.loads(data) if data else None


class HttpLink:
    """Each request is a call of the ASGI app; the body of its answer is what travels."""

    def __init__(self, server: Server, tasks: TaskGroup) -> None:
        self._app = server.asgi()
        self._dispatchers = server._dispatchers
        self._tasks = tasks
        self._calls: list[tuple[_Sent, anyio.Event]] = []

    async def open(self) -> None:
        self._calls = []

    def send(self, message: Message) -> None:
        method, params = message["method"], message["params"]
        headers = [
            (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"),
            (b"host", b"127.0.0.1"),
            (b"mcp-protocol-version", b"2026-07-28"),
            (b"mcp-method", method.encode()),
        ]
        if "uri" in params:
            headers.append((b"mcp-name", params["uri"].encode()))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": "POST",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "root_path": "",
            "query_string": b"",
            "headers": headers,
        }
        gone, body, asked = anyio.Event(), json.dumps(message).encode(), False
        sent = _Sent(b"\n\n")
        self._calls.append((sent, gone))

        async def receive() -> Message:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": body, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def answer(event: Message) -> None:
            if event["type"] == "http.response.body" and not gone.is_set():
                sent.add(event.get("body", b""))
                if not event.get("more_body", False):
                    sent.add(b"\n\n")  # the end of a JSON body ends a message, as a blank line ends an event

        self._tasks.start_soon(self._app, scope, receive, answer)

    async def settle(self) -> None:
        for _ in range(_TURNS):
            await anyio.lowlevel.checkpoint()
            if not any(dispatcher.subscriptions.behind for dispatcher in self._dispatchers):
                break
        for _ in range(3):
            await anyio.lowlevel.checkpoint()

    def take(self) -> list[Message]:
        return [message for sent, _ in self._calls for message in sent.take()]

    def cut(self, keep: int) -> None:
        for sent, gone in self._calls:
            gone.set()
            sent.cut(keep)


class StdioLink:
    """One process less: a peer over two pipes, in this process."""

    def __init__(self, server: Server, tasks: TaskGroup) -> None:
        self._server = server
        self._tasks = tasks
        self._sent = _Sent(b"\n")
        self._ends: tuple[int, int] | None = None

    async def open(self) -> None:
        self._close()
        source, ours = os.pipe()
        theirs, sink = os.pipe()
        os.set_blocking(theirs, False)
        self._ends = (ours, theirs)
        self._sent = _Sent(b"\n")
        dispatcher = self._server._dispatcher()

        async def serve() -> None:
            try:
                await StdioPeer(dispatcher, self._server.limits, source, sink).serve()
            finally:
                self._server._dispatchers.discard(dispatcher)
                os.close(source)
                os.close(sink)

        self._tasks.start_soon(serve)

    def send(self, message: Message) -> None:
        assert self._ends is not None
        os.write(self._ends[0], json.dumps(message).encode() + b"\n")

    async def settle(self) -> None:
        quiet = 0
        for _ in range(_TURNS):
            await anyio.sleep(0)
            behind = any(dispatcher.subscriptions.behind for dispatcher in self._server._dispatchers)
            quiet = 0 if self._receive() or behind else quiet + 1
            if quiet > 6:
                return

    def take(self) -> list[Message]:
        self._receive()
        return self._sent.take()

    def cut(self, keep: int) -> None:
        self._receive()
        self._sent.cut(keep)
        left = self._sent
        self._close()
        self._sent = left

    def _receive(self) -> bool:
        if self._ends is None:
            return False
        try:
            data = os.read(self._ends[1], 1 << 20)
        except BlockingIOError:
            return False
        self._sent.add(data)
        return bool(data)

    def _close(self) -> None:
        if self._ends is not None:
            for end in self._ends:
                os.close(end)
            self._ends = None
