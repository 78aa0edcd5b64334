"""The works that are carried, by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamres.compare.works.record import record
from streamres.compare.works.recorded import NotACast, build_log, recorded
from streamres.compare.works.stages import stages
from streamres.compare.works.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WORKS: Mapping[str, Callable[[int], Work]] = {
    "build-log": lambda _seed: build_log(),
    "stages": stages,
}
"""Each work by its id, made from a seed."""

__all__ = ["WORKS", "NotACast", "Work", "record", "recorded"]
