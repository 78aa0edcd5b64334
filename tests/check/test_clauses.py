"""The table of clauses is the note's, and each of them is either checked or said to be out of sight."""

from __future__ import annotations

import json

import pytest
import yaml

from streamres.check import sections
from streamres.check.clauses import CORE, clauses, order_of
from streamres.check.unseen import UNSEEN

from .note import ROOT, TABLE, sentences

REQUIREMENTS = ROOT / "tests" / "conformance" / "src" / "seps" / "sep-0000.yaml"


def checked() -> set[str]:
    return {name for check in sections.CHECKS for name in check.clauses}


def test_the_sentences_are_those_of_the_note() -> None:
    assert json.loads(TABLE.read_text()) == sentences(), "write them anew: PYTHONPATH=tests python -m check.note"


def test_every_clause_is_checked_or_has_the_reason_why_not() -> None:
    assert checked() | UNSEEN.keys() == clauses().keys()
    assert not checked() & UNSEEN.keys()


def test_the_core_is_checked() -> None:
    assert CORE.keys() <= checked()


def test_check_ids_are_those_of_the_requirements() -> None:
    required = {row["check"] for row in yaml.safe_load(REQUIREMENTS.read_text())["requirements"] if "check" in row}

    assert required <= {clause.check_id for clause in clauses().values()}


@pytest.mark.parametrize(
    ("earlier", "later"),
    [("MCP-result-type", "SR-2.1.a"), ("SR-9.3.b", "SR-10.1"), ("SR-5.5.e", "SR-5.10"), ("SR-5.5.a", "SR-5.5.b")],
)
def test_clauses_are_sorted_by_number(earlier: str, later: str) -> None:
    assert order_of(earlier) < order_of(later)
