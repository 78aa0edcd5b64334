"""What `streamres check` prints, writes and exits with: a process of its own, against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.program import live, streamres

from streamres.check import Finding
from streamres.check.clauses import clauses
from streamres.check.exchange import Exchange
from streamres.check.report import lines

STATUSES = {"SUCCESS", "FAILURE", "WARNING", "SKIPPED"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with live("serve", "--port", "0") as server:
        yield server.url


def test_a_line_a_clause_and_a_count(url: str) -> None:
    done = streamres("check", url, "--only", "SR-5.6", "--only", "SR-3.7", "--only", "SR-8.1.c")

    assert done.returncode == 0, done.stderr
    *lines, count = done.stdout.decode().splitlines()
    assert [line.split(maxsplit=1)[0] for line in lines] == ["SR-3.7", "SR-5.6.a", "SR-5.6.b", "SR-8.1.c"]
    assert lines[0].endswith("not tested   needs a store that lost history")
    assert "pass         fields text, meta text" in lines[1]
    assert "not offered  no entry of the list has annotations.audience" in lines[3]
    assert count == "2 pass, 0 fail, 1 not offered, 1 not tested"


def test_the_base_url_means_the_endpoint(url: str) -> None:
    assert streamres("check", url.removesuffix("/mcp"), "--only", "SR-10.7").returncode == 0


def test_json_has_the_exact_exchanges(url: str) -> None:
    done = streamres("check", url, "--json", "--only", "SR-5.6.b")

    report = json.loads(done.stdout)
    (finding,) = report["findings"]
    assert report["summary"] == {"pass": 1, "fail": 0, "warn": 0, "not offered": 0, "not tested": 0}
    assert report["extension"] == "dev.streamres/streamable-resources"
    assert finding["clause"] == "SR-5.6.b"
    assert finding["sentence"] == clauses()["SR-5.6.b"].sentence
    refused = [exchange for exchange in finding["exchanges"] if exchange["status"] == 400]
    sent, (got,) = refused[0]["sent"], refused[0]["got"]
    assert sent["method"] == "resources/read"
    assert got["error"]["data"] == {"uri": sent["params"]["uri"]}
    assert got["id"] == sent["id"]


def test_results_are_in_the_shape_of_the_official_suite(url: str, tmp_path: Path) -> None:
    done = streamres(
        "check", url, "--results", str(tmp_path), "--only", "SR-5.6", "--only", "SR-8.1", "--only", "MCP"
    )

    assert done.returncode == 0, done.stderr
    checks: dict[str, list[dict[str, Any]]] = {
        path.parent.name: json.loads(path.read_text()) for path in tmp_path.glob("*/checks.json")
    }
    assert checks.keys() == {
        "streamable-resources-core",
        "streamable-resources-section-5",
        "streamable-resources-section-8",
    }
    for check in (check for scenario in checks.values() for check in scenario):
        assert {"id", "name", "description", "status", "timestamp", "specReferences", "details"} <= check.keys()
        assert check["status"] in STATUSES
        assert (check["status"] == "SUCCESS") == ("errorMessage" not in check)
    ids = {check["id"]: check["status"] for check in checks["streamable-resources-section-5"]}
    assert ids == {
        "sep-0000-streamable-resources-sr-5.6.a": "SUCCESS",
        "sep-0000-streamable-resources-sr-5.6.b": "SUCCESS",
    }
    assert {check["status"] for check in checks["streamable-resources-section-8"]} == {"SUCCESS", "SKIPPED"}


def test_nothing_that_a_server_sent_reaches_the_terminal_raw() -> None:
    exchange = Exchange(sent={}, status=200, got=["\x1b]0;title\x07"])
    finding = Finding(clause="SR-4.3", status="fail", detail="\x1b[2J\x9b1m\ud800", exchanges=(exchange,))

    told = "".join(line.plain for line in lines([finding]))

    assert all(char.isprintable() for char in told)
    assert r"\x1b[2J\x9b1m\ud800" in told


@pytest.mark.parametrize("argument", ["no url", "ftp://127.0.0.1/"])
def test_what_is_no_url_is_said(argument: str) -> None:
    done = streamres("check", argument)

    assert done.returncode == 2
    assert b"looks like http://127.0.0.1:8765/mcp" in done.stderr or b"is not" in done.stderr
