from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .site import Site, tampered_site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": False}


@pytest.fixture(scope="session")
async def site() -> AsyncIterator[Site]:
    async with tampered_site() as site:
        yield site
