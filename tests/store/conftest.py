"""Every backend takes the same tests: to join, add a line to `BACKENDS`."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from streamres.limits import Limits
from streamres.store import MemoryStore
from streamres.store.nats import NatsStore
from streamres.store.sqlite import SqliteStore

from . import nats_server
from .scene import URI, described

pytest.register_assert_rewrite("store.both", "store.by_hand")  # what differs is shown, as in a test

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager

    from streamres.store import Store

    from .scene import OpenStore


@asynccontextmanager
async def memory(limits: Limits) -> AsyncIterator[Store]:
    yield MemoryStore(limits)


@asynccontextmanager
async def sqlite(limits: Limits) -> AsyncIterator[Store]:
    with TemporaryDirectory(prefix="streamres-") as folder:
        async with SqliteStore.open(Path(folder) / "store.db", limits) as store:
            yield store


@asynccontextmanager
async def nats(limits: Limits) -> AsyncIterator[Store]:
    async with nats_server.empty_stream("single") as address, NatsStore.open(address, limits) as store:
        yield store


@asynccontextmanager
async def nats_cluster(limits: Limits) -> AsyncIterator[Store]:
    async with nats_server.empty_stream("cluster") as address, NatsStore.open(address, limits) as store:
        yield store


@pytest.fixture(scope="session", autouse=True)
def nats_servers() -> Iterator[None]:
    """Ends the servers that the stores shared."""
    yield
    nats_server.end_shared()


BACKENDS: dict[str, Callable[[Limits], AbstractAsyncContextManager[Store]]] = {
    "memory": memory,
    "sqlite": sqlite,
    "nats": nats,
    "nats-cluster": nats_cluster,
}


@pytest.fixture
async def address() -> AsyncIterator[str]:
    """The address of a stream on a NATS server that is not there yet."""
    async with nats_server.empty_stream("single") as address:
        yield address


@pytest.fixture(params=list(BACKENDS.values()), ids=list(BACKENDS))
async def open_store(request: pytest.FixtureRequest) -> AsyncIterator[OpenStore]:
    """Opens empty stores of the backend; they are closed with the test."""
    async with AsyncExitStack() as stack:

        async def open_one(limits: Limits | None = None) -> Store:
            return await stack.enter_async_context(request.param(limits or Limits()))

        yield open_one


@pytest.fixture
async def store(open_store: OpenStore) -> Store:
    """A store with one empty resource at `URI`."""
    store = await open_store()
    await store.create(described(URI))
    return store
