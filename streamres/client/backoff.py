"""How long to wait before another try: longer each time, and never all readers at once."""

from __future__ import annotations

from collections.abc import Callable
from random import uniform
from typing import Final

import anyio

from streamres.errors import ConnectionLost

_FIRST_S: Final = 0.1
_LONGEST_S: Final = 5.0

FaultHook = Callable[[ConnectionLost, float], None]
"""Is told of a fault and of the seconds until the next try."""


class Backoff:
    """The waits after one fault and another; `on_fault` is told of each."""

    def __init__(self, on_fault: FaultHook | None) -> None:
        self._longest_s = _FIRST_S
        self._on_fault = on_fault

    def reset(self) -> None:
        """Begins with short waits again, after something went well."""
        self._longest_s = _FIRST_S

    async def wait(self, fault: ConnectionLost, *, at_least_s: float = 0.0) -> None:
        """Waits; with jitter, so that a thousand readers of one server do not come back in one moment."""
        wait_s = at_least_s + uniform(self._longest_s / 2, self._longest_s)
        self._longest_s = min(self._longest_s * 2, _LONGEST_S)
        if self._on_fault is not None:
            self._on_fault(fault, wait_s)
        await anyio.sleep(wait_s)
