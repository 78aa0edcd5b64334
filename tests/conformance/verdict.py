"""The verdict on a run of the suite, stricter than its own: a warning is a failure, and every scenario counts.

`baseline.txt` lists what may fail, `scenario` or `scenario:check-id` a line, each with its reason. A line for what
does not fail any more is a failure itself.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

_BASELINE_LINE: Final = re.compile(r"(?P<key>\S+)\s+# (?P<reason>\S.*)")
_STARTED: Final = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a scenario, as the suite wrote it."""

    scenario: str
    id: str
    status: str
    message: str = ""

    @property
    def failed(self) -> bool:
        return self.status in ("FAILURE", "WARNING")

    @property
    def keys(self) -> set[str]:
        """The baseline lines that let it fail."""
        return {self.scenario, f"{self.scenario}:{self.id}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a run showed, in numbers of checks, and what is wrong with it."""

    passed: int
    skipped: int
    baselined: int
    faults: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"  {fault}" for fault in self.faults]
        counts = (
            f"{self.passed} passed, {len(self.faults)} failed, {self.skipped} skipped, {self.baselined} baselined"
        )
        return "\n".join([*lines, counts])


def read_baseline(text: str) -> dict[str, str]:
    """Gives the reason for each line of a baseline.

    Raises:
        ValueError: a line has no reason, or comes twice.
    """
    baseline: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        if line.startswith("#"):
            continue
        found = _BASELINE_LINE.fullmatch(line)
        if found is None or found["key"] in baseline:
            raise ValueError(f"{line!r} is not one new scenario or scenario:check-id with `# reason` behind it")
        baseline[found["key"]] = found["reason"]
    return baseline


def read_checks(results: Path) -> list[Check]:
    """Gives every check below `results/server` and `results/client`."""
    checks: list[Check] = []
    for path in sorted(results.glob("*/**/checks.json")):
        side, _, directory = path.parent.relative_to(results).as_posix().partition("/")
        scenario = _STARTED.sub("", directory)
        if side == "server":
            scenario = scenario.removeprefix("server-")
        checks += [
            Check(
                scenario=scenario,
                id=found["id"],
                status=found["status"],
                message=found.get("errorMessage") or "",
            )
            for found in json.loads(path.read_text())
        ]
    return checks


def judge(checks: Iterable[Check], baseline: Mapping[str, str], required: Collection[str]) -> Verdict:
    """Gives the verdict; `required` are the scenarios that must have run."""
    checks = list(checks)
    failed = [check for check in checks if check.failed]
    unexpected = [check for check in failed if not check.keys & baseline.keys()]
    stale = baseline.keys() - set().union(*(check.keys for check in failed))
    absent = set(required) - {check.scenario for check in checks}
    return Verdict(
        passed=sum(check.status == "SUCCESS" for check in checks),
        skipped=sum(check.status == "SKIPPED" for check in checks),
        baselined=len(failed) - len(unexpected),
        faults=(
            *(f"{check.status} {check.scenario}:{check.id} {check.message[:200]}" for check in unexpected),
            *(
                f"STALE {key}: it does not fail any more, so the baseline must not list it"
                for key in sorted(stale)
            ),
            *(f"ABSENT {scenario}: it did not run" for scenario in sorted(absent)),
        ),
    )
