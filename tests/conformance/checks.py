"""A pytest plugin: `--checks DIR` writes what the tests showed of each sentence of the note, in the suite's shape.

One `checks.json` a test file. A test that names a clause speaks for all of its sentences. A test that was skipped
showed nothing, so it says nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.requirements import NOTE, ROOT, sentences

if TYPE_CHECKING:
    from collections.abc import Generator

    from conformance.requirements import Sentence


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--checks", type=Path, metavar="DIR", help="write checks.json of each test file below DIR")


def pytest_configure(config: pytest.Config) -> None:
    directory = config.getoption("--checks")
    if directory is not None:
        if any(directory.rglob("checks.json")):
            raise pytest.UsageError(f"--checks: {directory} holds the checks of another run")
        config.pluginmanager.register(Checks(directory))


class Checks:
    """Keeps what each test file showed, and writes it at the end."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sentences = [one for one in sentences(NOTE.read_text()) if one.excluded is None]
        self._faults: dict[pytest.Item, str] = {}
        self._passed: set[pytest.Item] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed:
            self._faults[item] = f"{item.nodeid}: {call.excinfo.exconly() if call.excinfo else report.when}"
        elif report.passed and report.when == "call":
            self._passed.add(item)
        return report

    def pytest_sessionfinish(self) -> None:
        files: dict[Path, list[pytest.Item]] = defaultdict(list)
        for item in sorted(self._passed | self._faults.keys(), key=lambda item: item.nodeid):
            files[item.path.relative_to(item.config.rootpath).with_suffix("")].append(item)
        for path, items in files.items():
            checks = [
                self._check(sentence, speaking)
                for sentence in self._sentences
                if (speaking := [item for item in items if any(map(sentence.belongs_to, _named_by(item)))])
            ]
            if checks:
                target = self._directory / path / "checks.json"
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(json.dumps(checks, indent=2))

    def _check(self, sentence: Sentence, items: list[pytest.Item]) -> dict[str, Any]:
        faults = [self._faults[item] for item in items if item in self._faults]
        check: dict[str, Any] = {
            "id": sentence.check,
            "name": sentence.clause,
            "description": sentence.text,
            "status": "SUCCESS" if not faults else "FAILURE" if sentence.obliges else "WARNING",
            "timestamp": datetime.now(UTC).isoformat(),
            "specReferences": [{"id": sentence.clause, "url": NOTE.relative_to(ROOT).as_posix()}],
            "details": {"tests": [item.nodeid for item in items]},
        }
        return {**check, "errorMessage": "\n".join(faults)} if faults else check


def _named_by(item: pytest.Item) -> list[str]:
    return [name for mark in item.iter_markers("requirement") for name in mark.args]
