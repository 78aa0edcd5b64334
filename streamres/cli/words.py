"""What the command line says to a person: always on standard error, so that standard output is content only."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from typing import Final

from rich.console import Console
from rich.markup import escape

FAILED: Final = 1
USAGE: Final = 2
"""Exit code where what was given cannot be meant."""
OWN_FAILURE: Final = 125
"""Exit code of `run` for a failure of its own, as `env`, `timeout` and `docker run` have it."""
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141


def say(text: str, *, style: str = "dim") -> None:
    """Writes one line; a standard error that is closed or full is no reason to fail."""
    with suppress(OSError):
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"streamres: {escape(text)}", style=style)


def fail(text: str) -> None:
    """Writes one line about an error."""
    say(text, style="red")


def cannot_serve(host: str, port: int, exc: OSError) -> None:
    """Writes why an address could not be taken, and what to do."""
    reason = (exc.strerror or str(exc)).lower()
    fail(f"cannot serve at {host}:{port}: {reason}; choose another with --port (0 takes a free one)")


def quiet_uvicorn() -> None:
    """Keeps uvicorn's tracebacks of readers that were cut off at the end from a person's terminal."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)


def open_standard_files() -> None:
    """Opens /dev/null as each standard file that is closed, so that no other file takes its number."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
