from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from server.wire import Wire, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": False}


@pytest.fixture(scope="module")
async def wire() -> AsyncIterator[Wire]:
    """The module's server; nothing is written to its one resource."""
    async with serving() as wire:
        yield wire
