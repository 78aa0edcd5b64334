"""Findings for a person, for a program, and in the shape of the official conformance suite."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from streamres.check.binding import EXTENSION
from streamres.check.clauses import CORE, NOTE_URL, clauses
from streamres.check.exchange import short
from streamres.check.limits import REPORTED_CHARS
from streamres.check.runner import as_json, summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from streamres.check.clauses import Clause
    from streamres.check.finding import Finding, Status

_STYLES: Final[Mapping[Status, str]] = {
    "pass": "green",
    "fail": "bold red",
    "warn": "yellow",
    "not offered": "dim",
    "not tested": "dim",
}
_OFFICIAL: Final[Mapping[Status, str]] = {
    "pass": "SUCCESS",
    "fail": "FAILURE",
    "warn": "WARNING",
    "not offered": "SKIPPED",
    "not tested": "SKIPPED",
}
CORE_URL: Final = "https://modelcontextprotocol.io/specification/2026-07-28"


def lines(findings: Sequence[Finding]) -> Iterator[Text]:
    """Gives the report for a person: a line a clause, what broke below it, and the count at the end."""
    width = max((len(finding.clause) for finding in findings), default=0)
    for finding in findings:
        line = Text(f"{finding.clause:<{width}}  ")
        line.append(f"{finding.status:<11}", style=_STYLES[finding.status])
        broken = finding.status in ("fail", "warn")
        seen = ", ".join(finding.variants) if broken or finding.status == "pass" else finding.detail
        line.append(f"  {_printable(seen)}")
        line.rstrip()
        yield line
        if broken:
            yield from _told(finding)
    counts = summary(findings)
    yield Text(", ".join(f"{count} {status}" for status, count in counts.items() if count or status != "warn"))


def _told(finding: Finding) -> Iterator[Text]:
    yield Text(f"    {clauses()[finding.clause].sentence}", style="italic")
    yield Text(f"    got: {_printable(finding.detail)}")
    if finding.exchanges:
        last = finding.exchanges[-1]
        yield Text(f"    sent: {_printable(short(last.sent, REPORTED_CHARS))}", style="dim")
        answers = last.got[-1] if len(last.got) == 1 else last.got
        fault = "" if last.fault is None else f" ({last.fault})"
        told = f"    answer: HTTP status {last.status}{fault} {short(answers, REPORTED_CHARS)}"
        yield Text(_printable(told), style="dim")


def _printable(text: str) -> str:
    """What a server sent, with nothing in it that a terminal would obey."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def machine_readable(url: str, findings: Sequence[Finding]) -> str:
    """Gives the report as JSON, each clause with its exact exchanges."""
    report = {
        "url": url,
        "extension": EXTENSION,
        "at": datetime.now(UTC).isoformat(),
        "summary": summary(findings),
        "findings": [as_json(finding) for finding in findings],
    }
    return json.dumps(report, indent=1)


def write_results(directory: Path, url: str, findings: Sequence[Finding]) -> None:
    """Writes `<scenario>/checks.json` below a directory, one scenario a section of the note.

    A clause that obliges nobody has no check there.
    """
    scenarios: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for finding in findings:
        clause = clauses()[finding.clause]
        if clause.level != "MAY":
            scenarios[scenario_of(clause)].append(_official(clause, url, finding))
    for scenario, checks in scenarios.items():
        target = directory / scenario / "checks.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(checks, indent=2) + "\n")


def scenario_of(clause: Clause) -> str:
    """Gives the scenario that a clause belongs to: its section."""
    if clause.id in CORE:
        return "streamable-resources-core"
    return f"streamable-resources-section-{clause.id.removeprefix('SR-').partition('.')[0]}"


def _official(clause: Clause, url: str, finding: Finding) -> dict[str, Any]:
    check: dict[str, Any] = {
        "id": clause.check_id,
        "name": clause.id,
        "description": clause.sentence,
        "status": _OFFICIAL[finding.status],
        "timestamp": datetime.now(UTC).isoformat(),
        "specReferences": [{"id": clause.id, "url": CORE_URL if clause.id in CORE else NOTE_URL}],
        "details": {
            "url": url,
            "variants": list(finding.variants),
            "exchanges": [exchange.as_json() for exchange in finding.exchanges],
        },
    }
    return check if finding.status == "pass" else {**check, "errorMessage": finding.detail}
