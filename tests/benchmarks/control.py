"""The contestant's half of the control channel: one JSON command a line on stdin, one answer a line on stdout."""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
from typing import Any, Protocol, runtime_checkable

import anyio

from benchmarks.text import log_text


class Controlled(Protocol):
    """What every contestant can be told to do."""

    async def create(self, uri: str) -> None:
        """Makes an empty resource."""

    async def append(self, uri: str, text: str) -> str:
        """Adds text and gives the cursor after it."""

    async def publish(self, uri: str) -> None:
        """Makes one change that every subscriber is told of."""

    async def seal(self, uri: str) -> None:
        """Says that nothing follows."""


@runtime_checkable
class HoldsDocuments(Controlled, Protocol):
    """What a contestant with json resources can be told to do beside."""

    async def document(self, uri: str, size: int) -> str:
        """Makes a document of about so many bytes and gives its cursor."""

    async def patch(self, uri: str, begin: int, count: int, burst: int) -> dict[str, Any]:
        """Makes small patches, with time for readers after each `burst`; gives the last cursor and their bytes."""

    async def grow(self, uri: str, count: int) -> str:
        """Appends 20 bytes to one string of the document, so many times, and gives the cursor."""


def listening_socket() -> socket.socket:
    """Gives a socket on a free loopback port, with a queue long enough for all subscribers at once."""
    raise_file_limit()
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(2_048)
    return sock


def raise_file_limit() -> None:
    """Lets this process open as many sockets as the system allows it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def obey(contestant: Controlled, port: int) -> None:
    """Says the port, then does as told until stdin ends."""
    _say({"port": port})
    pending = b""
    while True:
        # Not a thread: what a waiting reader costs would be charged to the server.
        await anyio.wait_readable(sys.stdin.fileno())
        received = os.read(sys.stdin.fileno(), 65_536)
        if not received:
            return
        *lines, pending = (pending + received).split(b"\n")
        for line in lines:
            _say(await _done(contestant, json.loads(line)))


async def _done(contestant: Controlled, how: dict[str, Any]) -> dict[str, Any]:
    uri = how["uri"]
    match how["do"]:
        case "text":
            await contestant.create(uri)
            cursors = [await contestant.append(uri, log_text(size)) for size in how["sizes"]]
            return {"cursors": cursors}
        case "log":
            await contestant.create(uri)
            piece = log_text(how["piece"])
            for _ in range(how["count"]):
                await contestant.append(uri, piece)
            await contestant.seal(uri)
        case "publish":
            for _ in range(how["count"]):
                await contestant.publish(uri)
                if how["pause_s"]:
                    # Time for every subscriber to be served: an update is not to be merged with the next.
                    await anyio.sleep(how["pause_s"])
        case "document" if isinstance(contestant, HoldsDocuments):
            return {"cursor": await contestant.document(uri, how["size"])}
        case "patch" if isinstance(contestant, HoldsDocuments):
            return await contestant.patch(uri, how["begin"], how["count"], how["burst"])
        case "grow" if isinstance(contestant, HoldsDocuments):
            return {"cursor": await contestant.grow(uri, how["count"])}
        case do:
            raise ValueError(f"unknown command {do!r}")
    return {}


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
