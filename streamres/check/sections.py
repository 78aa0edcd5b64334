"""Every check there is: one module a section of the note."""

from streamres.check import (
    bindings,
    bounds,
    core,
    cursors,
    discovery,
    history,
    kinds,
    listening,
    older,
    producing,
    reading,
    security,
    updates,
    waiting,
)
from streamres.check.registry import CHECKS

__all__ = [
    "CHECKS",
    "bindings",
    "bounds",
    "core",
    "cursors",
    "discovery",
    "history",
    "kinds",
    "listening",
    "older",
    "producing",
    "reading",
    "security",
    "updates",
    "waiting",
]
