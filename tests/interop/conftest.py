from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from .inspecting import Inspector, inspector_of
from .node import npm_packages
from .typescript_client import ProgramOf, SceneOf, running
from .typescript_client import scene as scene_of

OLD_SDK = "mcp==1.30.0"
TYPESCRIPT = Path(__file__).with_name("typescript")


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


@pytest.fixture(scope="session")
def npm_directory(request: pytest.FixtureRequest) -> Path:
    """A directory with the npm packages and the programs of `typescript/`, which find them there alone."""
    return npm_packages(request.config.cache, TYPESCRIPT)


@pytest.fixture
def scene(npm_directory: Path, free_port: int) -> SceneOf:
    """Starts a program of `typescript/` and the server that it connects to."""
    return partial(scene_of, npm_directory, free_port)


@pytest.fixture
def program(npm_directory: Path) -> ProgramOf:
    """Starts a program of `typescript/`."""
    return partial(running, npm_directory)


@pytest.fixture
def inspector(npm_directory: Path, tmp_path: Path) -> Inspector:
    """Runs the Inspector's command line."""
    return inspector_of(npm_directory, tmp_path)
