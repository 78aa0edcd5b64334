"""The promise to a person: a real test suite runs as always, and every watcher ends with its very bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from requirement import requirement

from cli.cutting_proxy import cutting
from cli.program import TIMEOUT_S, live, sha256, started

TESTS = 10_000
CUTS = 20

SUITE = f"""
import pytest

@pytest.mark.parametrize("number", range({TESTS}))
def test_square(number):
    assert number % 997 != 3, "a failure in red"
"""

BAR = """
from rich.console import Console
from rich.progress import track
for _ in track(range(400), "building", console=Console(force_terminal=True, width=70)):
    pass
"""


@requirement("C3")
@requirement("C4")
@requirement("SR-7.1")
def test_watchers_before_during_and_after_have_the_very_bytes_over_twenty_cuts(
    tmp_path: Path, free_port: int
) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "bar.py").write_text(BAR)
    written = tmp_path / "written"
    suite = f"{sys.executable} -m pytest -v --color=yes -p no:cacheprovider -o addopts= test_suite.py"
    script = f"cd {tmp_path}; ({sys.executable} bar.py; {suite}) 2>&1 | tee {written}"
    run = ["run", "--port", str(free_port), "--linger", "600", "--", "bash", "-c", script]

    with (
        cutting(free_port, [15_000] * CUTS) as proxy,
        started("tail", proxy.url) as before,
        live(*run, stdout=subprocess.DEVNULL) as served,
        started("tail", served.url) as during,
    ):
        out_before, words = before.communicate(timeout=3 * TIMEOUT_S)
        out_during, _ = during.communicate(timeout=TIMEOUT_S)
        with started("tail", served.url) as after:
            out_after, _ = after.communicate(timeout=TIMEOUT_S)

    expected = written.read_bytes()
    assert expected.count(b"\n") >= TESTS
    assert b"\x1b[32m" in expected
    assert b"\r" in expected
    assert sha256(out_before) == sha256(expected)
    assert sha256(out_during) == sha256(expected)
    assert sha256(out_after) == sha256(expected)
    assert proxy.cuts == CUTS
    assert words.decode().count("trying again") >= CUTS
