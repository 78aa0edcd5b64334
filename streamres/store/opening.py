"""Stores by their address: `memory:`, `sqlite:PATH`, `nats://HOST:PORT`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from streamres.errors import StoreError
from streamres.store.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from streamres.limits import Limits
    from streamres.store.base import Store


@asynccontextmanager
async def open_store(address: str, limits: Limits) -> AsyncIterator[Store]:
    """Gives the store at an address, made if need be, while the context lasts.

    Raises:
        StoreError: it cannot be opened, or is no address of a store.
    """
    scheme, _, path = address.partition(":")
    match scheme:
        case "memory" if not path:
            yield MemoryStore(limits)
        case "sqlite" if path:
            from streamres.store.sqlite import SqliteStore

            async with SqliteStore.open(path, limits) as store:
                yield store
        case "nats":
            try:
                from streamres.store.nats import NatsStore
            except ModuleNotFoundError as exc:
                raise StoreError(
                    f"nats: needs {exc.name}; install it with `pip install 'streamres[nats]'`"
                ) from exc
            async with NatsStore.open(address, limits) as nats:
                yield nats
        case _:
            raise StoreError(f"{address!r} is no store; it looks like memory:, sqlite:PATH or nats://HOST:PORT")
