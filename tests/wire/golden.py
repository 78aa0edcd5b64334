"""The golden files: scenes of clients and a server, which say themselves how to set up the server for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIRE = Path(__file__).parents[2] / "spec-notes" / "wire"

Frame = dict[str, Any]
"""What one side sends (`from`, `message`, …), or what happens `meanwhile`."""


@dataclass(frozen=True)
class Case:
    """One scene. `setup` is None where it goes on with the server of the case before."""

    setup: list[dict[str, Any]] | None
    frames: list[Frame]

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Case:
        return cls(stored.get("setup"), stored["frames"])

    def stored(self, others: Mapping[str, Any]) -> dict[str, Any]:
        """Gives the form that a file has it in; `others` are its members for people."""
        setup = {} if self.setup is None else {"setup": self.setup}
        kept = {name: value for name, value in others.items() if name not in ("setup", "frames", "binding")}
        return {**kept, **setup, "binding": others["binding"], "frames": self.frames}


def paths() -> list[Path]:
    return sorted(WIRE.glob("*.json"))


def read(path: Path) -> dict[str, Any]:
    contents: dict[str, Any] = json.loads(path.read_text())
    return contents


def text_of(contents: Mapping[str, Any]) -> str:
    return json.dumps(contents, indent=2, ensure_ascii=False) + "\n"


def exchanges(case: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any] | None, Mapping[str, Any]]]:
    """Gives each message of the server beside the request that it answers; None for one that is no JSON-RPC."""
    request = None
    for frame in case["frames"]:
        if frame.get("from") == "client":
            request = frame.get("message")
        elif frame.get("from") == "server":
            yield request, frame["message"]
