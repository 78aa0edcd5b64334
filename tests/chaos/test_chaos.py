"""Whatever is cut, lost, doubled or turned round: a reader has the producer's content, or is told of a reset.

Every binding of every transport, every kind. After each message the reader's content is looked at: it is what the
producer had at the very cursor that the reader holds, or the test fails.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres import Limits, Resource, Server
from streamres.model import KINDS, Kind, decode_cursor

from .links import HttpLink, Link, Message, StdioLink
from .reader import URI, Binding, Reader

CASES = 120
"""Of each of the eighteen ways: 2,160 in all."""

TEXTS = ["a", "line\n", "é", "\U0001f389x", "\u2028", '"\\\n', "\x00", "longer than a notification\n"]
BLOBS = [b"\x00", b"\xff\xfe", b"abc", b"\r\n", bytes(range(40))]
PATCHES: list[list[dict[str, Any]]] = [
    [{"op": "append", "path": "/text", "value": "tok "}],
    [{"op": "append", "path": "/text", "value": "é"}, {"op": "replace", "path": "/n", "value": 2**70}],
    [{"op": "replace", "path": "/n", "value": 1}],
    [{"op": "replace", "path": "/n", "value": 2}],
    [{"op": "replace", "path": "/n", "value": 1.5}],
    [{"op": "add", "path": "/rows/-", "value": {"t": ""}}],
    [{"op": "add", "path": "/rows/0", "value": {"t": "x"}}, {"op": "append", "path": "/rows/0/t", "value": "y"}],
    [{"op": "replace", "path": "/text", "value": ""}],
    [{"op": "copy", "from": "/text", "path": "/copy"}],
    [{"op": "replace", "path": "/rows", "value": []}, {"op": "append", "path": "/text", "value": "."}],
    [{"op": "move", "from": "/text", "path": "/moved"}, {"op": "add", "path": "/text", "value": "again"}],
]
FIRST: dict[str, Any] = {"text": "", "n": 0, "rows": []}

numbers = st.integers(0, 40)
actions = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), numbers),
        st.tuples(st.just("commit"), numbers),
        st.tuples(st.just("commit"), numbers),
        st.tuples(st.just("deliver"), st.just(0)),
        st.tuples(st.just("read"), st.sampled_from([0, 0, 1, 5, 64])),
        st.tuples(st.just("deliver"), numbers),
        st.tuples(st.just("deliver"), st.just(0)),
        st.tuples(st.just("deliver"), st.just(0)),
        st.tuples(st.just("double"), numbers),
        st.tuples(st.just("drop"), numbers),
        st.tuples(st.sampled_from(["listen", "timeout", "replace", "compact", "seal", "cut", "cut"]), numbers),
    ),
    min_size=12,
    max_size=60,
)
"""A number says which one: 0 is the oldest message on the way."""


@dataclass
class World:
    """A producer, a reader, and what is on the way between them."""

    server: Server
    log: Resource
    link: Link
    reader: Reader
    way: list[Message] = field(default_factory=list)
    contents: dict[tuple[int, int], bytes | str] = field(default_factory=dict)
    epochs: dict[int, bytes] = field(default_factory=dict)
    content: bytes = b""
    value: Any = None

    def remember(self) -> None:
        """Notes what the producer has at its cursor."""
        at = decode_cursor(self.log.cursor, URI)
        self.contents[at.epoch, at.revision] = canonical(self.value)
        self.epochs[at.epoch] = self.content

    async def act(self, action: str, number: int) -> None:
        match action:
            case "commit" if self.log.state == "open":
                await self._commit(number)
            case "replace" if self.log.state == "open":
                self.content, self.value = (b"new", json.loads(json.dumps(FIRST)))
                await self.log.replace(self.value if self.log.kind == "json" else self.content)
                self.remember()
            case "seal" if number % 8 == 0 and self.log.state == "open":
                await self.log.seal()
                self.remember()
            case "compact":
                await self.server.store.compact(URI, self.log.revision - number % 4)
            case "read":
                self.reader.read(number or None)
            case "listen":
                self.reader.listen()
            case "timeout":
                self.reader.lose()
            case "deliver" if await self.arrive():
                self.deliver(self.way.pop(number % len(self.way)))
            case "double" if await self.arrive():
                self.way.append(self.way[number % len(self.way)])
            case "drop" if await self.arrive():
                self.way.pop(number % len(self.way))
            case "cut":
                await self.link.settle()
                self.link.cut(number * 40)
                self.way += self.link.take()
                self.reader.lose()
                await self.link.open()
                self.reader.listen()

    async def _commit(self, number: int) -> None:
        match self.log.kind:
            case "text":
                text = TEXTS[number % len(TEXTS)]
                self.content += text.encode()
                await self.log.append(text)
            case "blob":
                data = BLOBS[number % len(BLOBS)]
                self.content += data
                await self.log.append(data)
            case "json":
                await self.log.patch(PATCHES[number % len(PATCHES)])
                reading = await self.server.store.read(URI)
                self.value = json.loads(b"".join(reading.step.slices()))  # type: ignore[union-attr]
        self.remember()

    async def arrive(self) -> bool:
        """Lets the server send all that it has to send, and says whether anything is on the way."""
        await self.link.settle()
        self.way += self.link.take()
        return bool(self.way)

    def deliver(self, message: Message) -> None:
        self.reader.take(message)
        if (cursor := self.reader.cursor) is None:
            return
        at = decode_cursor(cursor, URI)
        if self.reader.kind == "json":
            assert canonical(self.reader.value) == self.contents[at.epoch, at.revision], "never silently wrong"
        else:
            assert self.reader.content == self.epochs[at.epoch][: at.length], "never silently wrong"

    async def heal(self) -> None:
        """From now on everything arrives; the reader asks until it is told that this is all."""
        self.link.cut(0)
        self.way.clear()
        self.reader.lose()
        await self.link.open()
        for _ in range(100):
            self.reader.read(None)
            await self.arrive()
            while self.way:
                self.deliver(self.way.pop(0))
            if self.reader.asked is None and not self.reader.more and self.reader.cursor == self.log.cursor:
                return
        raise AssertionError("the reader never arrives")


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


async def run(
    kind: Kind, binding: Binding, transport: type[Any], append_op: bool, script: list[tuple[str, int]]
) -> None:
    server = Server("chaos", limits=Limits(notification_bytes=24))
    log = await server.create(URI, kind=kind, value=FIRST if kind == "json" else None)
    async with anyio.create_task_group() as tasks:
        link: Link = transport(server, tasks)
        world = World(server, log, link, Reader(link, kind, binding, append_op=append_op))
        world.value = json.loads(json.dumps(FIRST))
        world.remember()
        await link.open()
        for action, number in [("read", 0), ("deliver", 0), ("listen", 0), ("deliver", 0), *script]:
            await world.act(action, number)
        await world.heal()
        assert world.reader.sealed == (log.state != "open")
        link.cut(0)
        tasks.cancel_scope.cancel()


@requirement("SR-3.2")
@requirement("SR-6.1")
@requirement("C3")
@pytest.mark.parametrize("transport", [HttpLink, StdioLink])
@pytest.mark.parametrize("binding", ["fields", "meta", "uri"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
@given(script=actions, append_op=st.booleans())
def test_a_reader_has_what_the_producer_has_or_is_told(
    kind: Kind, binding: Binding, transport: type[Any], script: list[tuple[str, int]], append_op: bool
) -> None:
    anyio.run(run, kind, binding, transport, append_op, script)
