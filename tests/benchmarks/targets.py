"""What the producers append to: three servers, each in its own words.

Every append is numbered, so that it could be sent again, and every answer says that it was taken.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import nats

from benchmarks import http_answer
from benchmarks.load import WrongAnswer

DATA: Final = b"x" * 99 + b"\n"

Append = Callable[[int], Awaitable[None]]
"""Makes the append of a number, and returns once it is answered."""

Exchange = Callable[[bytes], Awaitable[bytes]]


class Target(Protocol):
    """A server that takes appends."""

    async def create(self, log: str) -> None:
        """Makes an empty log."""

    async def producer(self, log: str, name: str) -> Append:
        """Gives a producer with a connection of its own."""

    async def length(self, log: str) -> int:
        """Gives how many bytes the log has."""


class Streamres:
    """streamres, an append a request to its upload endpoint."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def create(self, log: str) -> None:
        """Does nothing: the first append makes it."""

    async def producer(self, log: str, name: str) -> Append:
        exchange = await _connected(self._port)

        async def append(seq: int) -> None:
            target = f"/upload?uri=bench:{log}&kind=text&producer={name}&epoch=0&seq={seq}"
            await exchange(_request("POST", target, DATA))

        return append

    async def length(self, log: str) -> int:
        exchange = await _connected(self._port)
        answer = await exchange(_request("GET", f"/upload?uri=bench:{log}"))
        return int(json.loads(http_answer.body(answer))["length"])


class DurableStreams:
    """Durable Streams, an append a request."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def create(self, log: str) -> None:
        exchange = await _connected(self._port)
        await exchange(_request("PUT", f"/v1/stream/{log}", b""))

    async def producer(self, log: str, name: str) -> Append:
        exchange = await _connected(self._port)

        async def append(seq: int) -> None:
            number = (f"producer-id: {name}", "producer-epoch: 0", f"producer-seq: {seq}")
            await exchange(_request("POST", f"/v1/stream/{log}", DATA, *number))

        return append

    async def length(self, log: str) -> int:
        exchange = await _connected(self._port)
        return len(http_answer.body(await exchange(_request("GET", f"/v1/stream/{log}?offset=-1"))))


class JetStream:
    """NATS JetStream, a stream a log, an append a publish that is acknowledged."""

    def __init__(self, port: int) -> None:
        self._url = f"nats://127.0.0.1:{port}"

    async def create(self, log: str) -> None:
        await (await nats.connect(self._url)).jetstream().add_stream(name=log, subjects=[log])

    async def producer(self, log: str, name: str) -> Append:
        stream = (await nats.connect(self._url)).jetstream()

        async def append(seq: int) -> None:
            answer = await stream.publish(log, DATA, headers={"Nats-Msg-Id": f"{name}-{seq}"})
            if answer.duplicate:
                raise WrongAnswer(str(answer))

        return append

    async def length(self, log: str) -> int:
        info = await (await nats.connect(self._url)).jetstream().stream_info(log)
        return info.state.messages * len(DATA)


TARGETS: Final[dict[str, Callable[[int], Target]]] = {
    "streamres": Streamres,
    "durable-streams": DurableStreams,
    "jetstream": JetStream,
}
"""By the name that the producers are told."""


async def _connected(port: int) -> Exchange:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def exchange(request: bytes) -> bytes:
        writer.write(request)
        answer = await http_answer.receive_from(reader)
        if http_answer.status(answer) // 100 != 2:
            raise WrongAnswer(answer[:2_000].decode("latin-1"))
        return answer

    return exchange


def _request(method: str, target: str, body: bytes | None = None, *headers: str) -> bytes:
    head = [f"{method} {target} HTTP/1.1", "host: 127.0.0.1", *headers]
    if body is not None:
        head += ["content-type: text/plain", f"content-length: {len(body)}"]
    return "\r\n".join([*head, "", ""]).encode() + (body or b"")
