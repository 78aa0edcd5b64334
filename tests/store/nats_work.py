"""Servers over one stream: writes of every kind to them, and all that each of them says then."""

from __future__ import annotations

import json
import random
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from streamres.errors import ResourceNotFound, StreamresError
from streamres.model import KINDS, Description, Kind, Patch
from streamres.store.nats import NatsStore

from .scene import number, text_of, uris

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from streamres.model import Head, Position
    from streamres.store import Store


@asynccontextmanager
async def opened(address: str, count: int, **options: Any) -> AsyncIterator[list[NatsStore]]:  # noqa: ANN401
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(NatsStore.open(address, **options)) for _ in range(count)]


async def until_same(stores: Sequence[Store]) -> None:
    """Waits until each has what the first has."""
    first, *others = stores
    for store in others:
        with store.watch(await uris(first), list_changed=True) as watch:
            while await store.list(limit=1_000) != await first.list(limit=1_000):
                await watch.wait()
                watch.take()
                watch.take_list_changed()


async def told(store: Store, positions: dict[str, list[Position]]) -> list[object]:
    """What a store says of every resource, and since every position that there ever was."""
    said: list[object] = [await store.list(limit=1_000)]
    for uri, since in positions.items():
        for position in [None, *since]:
            try:
                reading = await store.read(uri, position)
            except ResourceNotFound:
                said.append((uri, "is not there"))
                break
            step = reading.step
            data = step.operations if isinstance(step, Patch) else text_of(reading)
            said.append((uri, position, step.stop, data, reading.state, reading.digest, reading.reset))
            said.append(reading.causes)
    return said


class Work:
    """Writes of every kind, one after another, as chance has it."""

    def __init__(self, seed: int) -> None:
        self.positions: dict[str, list[Position]] = {}
        self._rng = random.Random(seed)
        self._seqs: dict[tuple[str, str], int] = {}

    async def step(self, store: Store, producer: str) -> None:
        """Makes one write; what is refused, because another was first, is made by nobody."""
        rng = self._rng
        kind: Kind = rng.choice(KINDS)
        uri = f"build://{kind}/{rng.randint(1, 3)}"
        try:
            head = await self._write(store, Description(uri=uri, name=kind, kind=kind), producer)
        except StreamresError:
            return
        if head is not None:
            self.positions.setdefault(uri, []).append(head.position)

    async def _write(self, store: Store, what: Description, producer: str) -> Head | None:
        rng, uri = self._rng, what.uri
        cause = rng.choice([None, "a", "b"])
        match rng.randint(0, 42):
            case 41 | 42:
                await store.remove(uri)
                return None
            case 0:
                return await store.append(uri, b"", seal="complete")
            case 1 | 2:
                return await store.replace(uri, b"[]" if what.kind == "json" else b"new\n")
            case 3:
                return await store.create(what, b"[0]" if what.kind == "json" else b"first\n")
            case 4 | 5:
                await store.compact(uri, rng.randint(0, 20))
                return None
            case 6:
                return await store.append(uri, self._data(what.kind), expected_revision=rng.randint(0, 5))
            case 7 | 8 | 9:
                seq = self._seqs.get((uri, producer), 0)
                mine = number(seq, producer=producer)
                head = await store.append(uri, self._data(what.kind), number=mine, cause=cause)
                self._seqs[uri, producer] = seq + 1
                return head
            case _:
                return await store.append(uri, self._data(what.kind), create=what, cause=cause)

    def _data(self, kind: Kind) -> bytes:
        count = self._rng.randint(1, 200)
        match kind:
            case "text":
                return "é😀\n".encode() * count
            case "blob":
                return self._rng.randbytes(count)
            case "json":
                op = "replace" if self._rng.random() < 0.3 else "add"
                return json.dumps([{"op": op, "path": "" if op == "replace" else "/-", "value": [count]}]).encode()
