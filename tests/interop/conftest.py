from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

OLD_SDK = "mcp==1.30.0"


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": False}


@pytest.fixture(scope="session")
def old_sdk(request: pytest.FixtureRequest) -> Path:
    """A directory with the last SDK of the older era; installed once, then kept in pytest's cache."""
    cache = request.config.cache
    assert cache is not None, "the cache plugin is off"
    target = Path(cache.mkdir(OLD_SDK.replace("==", "-")))
    done = target / ".installed"
    if not done.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
        subprocess.run([*command, "--target", str(target), OLD_SDK], check=True, timeout=300)
        done.touch()
    return target
