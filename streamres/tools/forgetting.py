"""Removes what nobody is to need any more, when its time is over."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from streamres.errors import ResourceNotFound, StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamres.store import Store

logger = logging.getLogger("streamres.tools")


class Forgetting:
    """What one server is to remove; what it leaves at its end, `streamres gc` removes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._timers: set[asyncio.TimerHandle] = set()
        self._removing: set[asyncio.Task[None]] = set()

    def later(self, uris: Sequence[str], after_s: float) -> None:
        """Removes these resources after so many seconds."""
        if uris:
            loop = asyncio.get_running_loop()
            self._timers = {timer for timer in self._timers if timer.when() > loop.time()}
            self._timers.add(loop.call_later(after_s, self._begin, uris))

    async def stop(self) -> None:
        """Removes nothing more, and returns once what was begun is done."""
        for timer in self._timers:
            timer.cancel()
        if self._removing:
            await asyncio.wait(self._removing)

    def _begin(self, uris: Sequence[str]) -> None:
        removing = asyncio.create_task(self._remove(uris))
        self._removing.add(removing)
        removing.add_done_callback(self._removing.discard)

    async def _remove(self, uris: Sequence[str]) -> None:
        for uri in uris:
            try:
                await self._store.remove(uri)
            except ResourceNotFound:
                pass
            except StoreError as exc:
                logger.error("%s cannot be removed: %s", uri, exc)
