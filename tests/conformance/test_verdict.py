"""The verdict is as strict as it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.__main__ import BASELINE
from conformance.verdict import Check, judge, read_baseline, read_checks

PASSED = Check(scenario="resources-list", id="listed", status="SUCCESS")
FAILED = Check(scenario="tools-list", id="listed", status="FAILURE", message="unknown method")
WARNED = Check(scenario="tools-list", id="described", status="WARNING")


def test_all_that_passes_is_no_fault() -> None:
    verdict = judge([PASSED], {}, {"resources-list"})

    assert (verdict.passed, verdict.faults) == (1, ())


@pytest.mark.parametrize("check", [FAILED, WARNED], ids=["failure", "warning"])
def test_what_fails_and_is_not_listed_is_a_fault(check: Check) -> None:
    (fault,) = judge([PASSED, check], {}, {"resources-list"}).faults

    assert f"tools-list:{check.id}" in fault


@pytest.mark.parametrize(
    ("key", "faults"),
    [("tools-list", 0), ("tools-list:listed", 1), ("resources-list", 3)],
    ids=["the scenario", "one of its checks", "another scenario"],
)
def test_the_baseline_covers_what_it_names_and_no_more(key: str, faults: int) -> None:
    verdict = judge([PASSED, FAILED, WARNED], {key: "no tools"}, {"tools-list"})

    assert len(verdict.faults) == faults
    assert verdict.baselined == 2 - min(faults, 2)


def test_a_line_for_what_passes_is_stale() -> None:
    (fault,) = judge([PASSED], {"resources-list": "not built"}, set()).faults

    assert fault.startswith("STALE resources-list")


def test_a_scenario_that_did_not_run_is_a_fault() -> None:
    (fault,) = judge([PASSED], {}, {"resources-list", "caching"}).faults

    assert fault.startswith("ABSENT caching")


@pytest.mark.parametrize("line", ["tools-list", "tools-list # ", "tools-list prompts-list # both", "a # x\na # y"])
def test_a_line_of_the_baseline_names_one_thing_once_and_says_why(line: str) -> None:
    with pytest.raises(ValueError, match="# reason"):
        read_baseline(line)


def test_the_baseline_gives_a_reason_for_each_line() -> None:
    assert all(read_baseline(BASELINE.read_text()).values())


def test_the_scenario_is_read_from_where_the_suite_wrote_it(tmp_path: Path) -> None:
    for directory in (
        "server/server-server-stateless-2026-11-30T21-09-48-123Z",
        "client/auth/dpop-2026-11-30T21-09-48-123Z",
    ):
        path = tmp_path / directory / "checks.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps([{"id": "one", "status": "SUCCESS"}]))

    assert {check.scenario for check in read_checks(tmp_path)} == {"server-stateless", "auth/dpop"}
