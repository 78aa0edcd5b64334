"""Many subscribers of one server, read in turn; what they get is counted, and of some it is checked in full."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from benchmarks import http_answer, wire
from benchmarks.load import WrongAnswer

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from benchmarks.process import ServerProcess

_ACKNOWLEDGED: Final = b"notifications/subscriptions/acknowledged"
_UPDATED: Final = b'"notifications/resources/updated"'
_BATCH: Final = 10
"""Updates between two looks at the subscribers: what they have not read yet stays within the sockets' buffers."""


class Listeners:
    """Subscribers to one URI, all with the same filter."""

    def __init__(self, server: ServerProcess, uri: str, deliver: str | None) -> None:
        self._server = server
        self._uri = uri
        self._deliver = deliver
        self._sockets: list[socket.socket] = []
        self._received: list[bytearray] = []

    def open(self, count: int, stack: ExitStack) -> None:
        """Opens `count` more subscriptions, each acknowledged before it returns."""
        ids = range(len(self._sockets), len(self._sockets) + count)
        for number in ids:
            sock = stack.enter_context(http_answer.connect(self._server.port))
            sock.sendall(wire.listen(self._uri, _request_id(number), self._deliver))
            self._sockets.append(sock)
            self._received.append(bytearray())
        for number in ids:
            self._read(number, _ACKNOWLEDGED, 1)

    def update(self, frames: int, pause_s: float) -> int:
        """Has the server make updates until about `frames` notifications arrived, and gives how many did."""
        updates = max(1, round(frames / len(self._sockets)))
        for begin in range(0, updates, _BATCH):
            count = min(_BATCH, updates - begin)
            # Read afterwards: to wake a reader at each frame would be charged to the server that sends it.
            self._server.tell("publish", self._uri, count=count, pause_s=pause_s)
            for number in range(len(self._sockets)):
                self._read(number, _UPDATED, count)
        return updates * len(self._sockets)

    def _read(self, number: int, word: bytes, count: int) -> None:
        """Reads one subscriber's stream until `word` came `count` times and its message is whole."""
        received = self._received[number]
        begin = len(received)
        while received.count(word, begin) < count or not received.endswith(b"\r\n"):
            try:
                more = self._sockets[number].recv(1024 * 1024)
            except TimeoutError as exc:
                raise WrongAnswer(f"subscriber {number} lacks a frame, or two were merged") from exc
            if not more:
                raise ConnectionError("the server ended a subscription")
            received += more

    def check(self) -> None:
        """Parses all that the first and the last subscriber got: nothing missing, double or foreign."""
        for number in {0, len(self._sockets) - 1}:
            answer = bytes(self._received[number])
            if http_answer.status(answer) != 200:
                raise WrongAnswer(answer[:2_000].decode("latin-1"))
            acknowledged, *updates = _messages(http_answer.body(answer))
            self._check_filter(acknowledged["params"]["notifications"])
            for update in updates:
                params = update["params"]
                if (params["uri"], params["_meta"][wire.SUBSCRIPTION_META]) != (self._uri, _request_id(number)):
                    raise WrongAnswer(str(update))
            if self._deliver is not None:
                _check_chain([update["params"] for update in updates], with_text=self._deliver == "delta")

    def _check_filter(self, honoured: dict[str, Any]) -> None:
        if self._deliver is None:
            right = honoured["resourceSubscriptions"] == [self._uri]
        else:
            right = honoured["resourceStreams"][self._uri]["deliver"] == self._deliver
        if not right:
            raise WrongAnswer(str(honoured))


@contextmanager
def listening(server: ServerProcess, uri: str, deliver: str | None, count: int) -> Iterator[Listeners]:
    """Keeps `count` subscriptions open while the context lasts."""
    listeners = Listeners(server, uri, deliver)
    with ExitStack() as stack:
        listeners.open(count, stack)
        yield listeners
        listeners.check()


def _request_id(number: int) -> str:
    return f"listen-{number}"


def _messages(stream: bytes) -> list[dict[str, Any]]:
    lines = stream.replace(b"\r\n", b"\n").split(b"\n")
    return [json.loads(line[len(b"data: ") :]) for line in lines if line.startswith(b"data: ")]


def _check_chain(updates: list[dict[str, Any]], *, with_text: bool) -> None:
    """Demands one update a revision, and with text that each delta goes on from the last."""
    for before, after in pairwise(updates):
        if after["revision"] != before["revision"] + 1:
            raise WrongAnswer(f"after {before} came {after}")
        if with_text and (not after["delta"]["text"] or after["delta"]["from"] != before["delta"]["to"]):
            raise WrongAnswer(f"after {before} came {after}")
