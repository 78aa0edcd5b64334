"""The same seed gives the same verdicts and the same bytes, however busy the machine is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from requirement import requirement

from compare.running import lines, run
from streamres.carriers import carriers
from streamres.compare import same

_BUSY = "while True: sum(range(100_000))"


@contextmanager
def busy_machine() -> Iterator[None]:
    """More programs that compute than there are cores."""
    with ExitStack() as stack:
        for _ in range(3):
            hog = stack.enter_context(subprocess.Popen([sys.executable, "-c", _BUSY]))
            stack.callback(hog.kill)
        yield


@requirement("K1")
@pytest.mark.parametrize("name", carriers())
def test_a_cell_run_again_on_a_busy_machine_is_the_same(name: str) -> None:
    faults = ["none", "dropped", "cut", "restart"]
    calm = run(carriers()[name], lines(), *faults)

    with busy_machine():
        busy = run(carriers()[name], lines(), *faults)

    assert list(map(same, busy)) == list(map(same, calm))
