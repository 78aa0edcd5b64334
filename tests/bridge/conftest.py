from __future__ import annotations

import pytest
from interop.conftest import old_sdk as old_sdk  # the fixture, for servers of the older era


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": False}
