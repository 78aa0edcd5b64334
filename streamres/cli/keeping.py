"""Where the command line keeps what it serves."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from platformdirs import user_data_path

from streamres.sources.lease import keep_sealing, seal_what_is_left
from streamres.store.opening import open_store
from streamres.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from streamres.limits import Limits
    from streamres.store import Store


def default_store() -> str:
    """Gives the address of the user's own store."""
    return f"sqlite:{user_data_path('streamres') / 'streams.db'}"


@asynccontextmanager
async def kept(address: str, limits: Limits) -> AsyncIterator[Store]:
    """Gives the store at an address; in one of this machine, what a producer that is gone left open is sealed.

    Raises:
        StoreError: it cannot be opened.
    """
    async with open_store(address, limits) as store:
        if not isinstance(store, SqliteStore):
            yield store
            return
        await seal_what_is_left(store, store.path)
        # No task group: what fails in the body is the caller's, and not to be wrapped.
        sealing = asyncio.create_task(keep_sealing(store, store.path))
        try:
            yield store
        finally:
            sealing.cancel()
