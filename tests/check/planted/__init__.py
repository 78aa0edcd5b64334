"""Servers that are wrong in one thing each, by the clause that they break: one module for some sections."""

from . import bindings, content, core, producing, reading, updates
from .plant import Planted, forbidding

EVERY_FAULT: list[Planted] = [
    *core.FAULTS,
    *content.FAULTS,
    *reading.FAULTS,
    *updates.FAULTS,
    *bindings.FAULTS,
    *producing.FAULTS,
]

__all__ = ["EVERY_FAULT", "Planted", "forbidding"]
