"""The servers, each a module that `python -m` runs: streamres, and the official SDK in two modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Contestant:
    """A server that can be started, by its name in the table."""

    name: str
    module: str
    arguments: tuple[str, ...] = ()


OURS: Final = Contestant("streamres", "benchmarks.contestants.streamres_server")
STORED: Final = Contestant("streamres, in a file", OURS.module, ("--file",))
JSON: Final = Contestant("official, JSON answers", "benchmarks.contestants.official_server", ("--json",))
DEFAULT: Final = Contestant("official, default", "benchmarks.contestants.official_server")
