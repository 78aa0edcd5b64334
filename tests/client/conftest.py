from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from server.wire import serving

from streamres import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from server.wire import Wire


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": False}


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """A server that takes uploads, of 100 bytes at the most."""
    async with serving(Limits(append_bytes=100), upload=True) as wire:
        yield wire
