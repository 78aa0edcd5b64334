"""Works that were recorded: what a real command wrote to its terminal, byte for byte and when (asciicast v2)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import orjson

from streamres.carriers.content import Append
from streamres.compare.works.work import Work
from streamres.errors import StreamresError

if TYPE_CHECKING:
    from pathlib import Path


class NotACast(StreamresError):
    """The file is no recording in the form asciicast v2."""


@dataclass(frozen=True, slots=True)
class _Output:
    at: float
    text: str


def build_log() -> Work:
    """Gives a build and test run: a clone with its progress bar, a compiler, a linter, tests, in colour."""
    cast = files("streamres.compare.works").joinpath("build-log.cast").read_bytes()
    return _work("build-log", "Build and test log, recorded", cast)


def recorded(path: Path) -> Work:
    """Gives a recording of one's own as a work.

    Raises:
        NotACast: it is none.
        OSError: it cannot be read.
    """
    return _work(path.stem, f"Recorded in {path.name}", path.read_bytes())


def _work(name: str, title: str, cast: bytes) -> Work:
    try:
        head, *events = map(orjson.loads, cast.splitlines())
        if head["version"] != 2:
            raise NotACast(f"{name}: version {head['version']} of asciicast; only 2 is read")
        outputs = [_Output(float(at), text) for at, code, text in events if code == "o" and text]
    except (orjson.JSONDecodeError, ValueError, TypeError, KeyError) as exc:
        raise NotACast(f"{name}: not in the form asciicast v2: {exc}") from exc
    if not outputs:
        raise NotACast(f"{name}: nothing was put out")
    return Work(
        id=name,
        title=title,
        kind="text",
        changes=[Append(output.text) for output in outputs],
        at=[output.at for output in outputs],
        end_at=float(head.get("duration", outputs[-1].at)) + 0.01,
    )
