"""What the carriers of this library share: its server over a store, and a reader's copy by its cursor."""

from __future__ import annotations

import copy
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import anyio

from streamres.app import Server
from streamres.carriers.carrier import Seen, Traits
from streamres.carriers.content import EMPTY, Append, Patch, Replace
from streamres.carriers.source import URI
from streamres.errors import ResourceExists
from streamres.limits import Limits
from streamres.model import AppendNumber, Reassembler
from streamres.model.json_value import encode_given
from streamres.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp

    from streamres.carriers.content import Kind
    from streamres.carriers.source import Source
    from streamres.client import Client
    from streamres.model import Update
    from streamres.store import Store

_PRODUCER: Final = "work"

TRAITS = Traits(
    ordered=True,
    gap_seen=True,
    replay="since",
    late_joiner=True,
    on_task=True,
    on_call=True,
    structured=True,
    corrections=True,
    payload_for="both",
)


@asynccontextmanager
async def serving_store(source: Source) -> AsyncIterator[ASGIApp]:
    """Serves the work as a resource in a file that every server process of it shares."""
    async with SqliteStore.open(source.keep / "store.db", Limits()) as store, anyio.create_task_group() as tasks:
        server = Server("compare", store=store)
        with suppress(ResourceExists):
            await server.create(URI, kind=source.kind, value=source.begin if source.kind == "json" else None)
        tasks.start_soon(_write, source, store)
        yield server.asgi()
        tasks.cancel_scope.cancel()


async def _write(source: Source, store: Store) -> None:
    """Commits each change once, whichever processes do this: each has its number (SR-9.1)."""
    standing = await store.producer(URI, _PRODUCER)
    done = 0 if standing is None else standing.next_seq
    seq = 0
    async for _, change in source.changes():
        match change:
            case Replace(value):
                # It has no number: done where the next numbered change is, or where it is the content.
                if seq >= done and await _content(store) != _encoded(source.kind, value):
                    await store.replace(URI, _encoded(source.kind, value))
                continue
            case Append(data):
                encoded = data.encode("utf-8") if isinstance(data, str) else data
            case Patch(operations):
                encoded = encode_given(list(operations))
        if seq >= done:
            await store.append(URI, encoded, number=AppendNumber(producer=_PRODUCER, epoch=0, seq=seq))
        seq += 1
    await store.append(URI, b"", seal="complete")


async def _content(store: Store) -> bytes:
    reading = await store.read(URI)
    return b"".join(reading.step.slices())  # type: ignore[union-attr]


def _encoded(kind: Kind, value: object) -> bytes:
    if kind == "json":
        return encode_given(value)
    return value.encode("utf-8") if isinstance(value, str) else bytes(value)  # type: ignore[call-overload]


class Copy:
    """What a reader has, and where it stands."""

    def __init__(self, client: Client, kind: Kind) -> None:
        self._client = client
        self._reader = Reassembler(URI)
        self._kind = kind
        self._value = EMPTY[kind]

    @property
    def cursor(self) -> str | None:
        """Where it stands; None before the first read."""
        return self._reader.cursor

    @property
    def sealed(self) -> bool:
        """Says whether it is at the end."""
        return self._reader.sealed

    @property
    def seen(self) -> Seen:
        """The copy as it is."""
        return Seen(copy.deepcopy(self._value), ended=self._reader.sealed)

    async def read(self, *, wait_ms: int | None = None) -> Seen:
        """Reads since its cursor.

        Raises:
            ConnectionLost: no answer came.
        """
        more = True
        while more:
            page = await self._client.read(URI, self.cursor, wait_ms=wait_ms)
            if page.since is None:
                self._have(self._reader.snapshot(page))
            elif self._reader.delta(page) == "applied":
                self._have(self._reader.with_value(page))
            more = page.more
        return self.seen

    def take(self, update: Update | None) -> bool:
        """Takes a delta that was pushed; says whether the copy is as new as it then."""
        if update is None:
            return False
        outcome = self._reader.delta(update)
        if outcome == "applied":
            self._have(self._reader.with_value(update))
        return outcome != "gap"

    def _have(self, update: Update) -> None:
        match update.kind:
            case "json":
                self._value = update.value
            case kind:
                before = EMPTY[kind] if update.reset is not None else self._value
                self._value = before + (update.text if kind == "text" else update.blob)
