"""Durable Streams with its data in files: its own store and server for Node.js, out of npm."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from interop.node import NODE, installed
from platformdirs import user_cache_path

if TYPE_CHECKING:
    from collections.abc import Iterator

_SOURCE: Final = Path(__file__).parents[1] / "npm"


def version() -> str:
    """Gives the version that is pinned."""
    return str(json.loads((_SOURCE / "package.json").read_text())["dependencies"]["@durable-streams/server"])


@cache
def directory() -> Path:
    """Gives the directory with its packages and the programs of `npm/`, installed once and then kept."""
    return installed(_SOURCE, user_cache_path("streamres") / "benchmarks")


def program(name: str, *args: str) -> list[str]:
    """Gives the command of a program of `npm/`."""
    return [NODE, str(directory() / f"{name}.mjs"), *args]


@contextmanager
def serving() -> Iterator[int]:
    """Runs its server while the context lasts, and gives the port."""
    with (
        TemporaryDirectory(prefix="durable-streams-") as folder,
        subprocess.Popen(program("serve", folder), stdout=subprocess.PIPE, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            # Its log is there too.
            yield next(json.loads(line)["port"] for line in process.stdout if line.startswith("{"))
        finally:
            process.terminate()
