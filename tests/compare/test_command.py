"""`streamres compare`, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

from cli.program import streamres


def test_it_shows_two_tables_and_writes_each_cell(tmp_path: Path) -> None:
    out = tmp_path / "cells.jsonl"

    done = streamres(
        "compare", "--carriers", "reread,sr-push", "--works", "stages", "--faults", "none,cut", "--json", str(out)
    )

    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert max(map(len, text.splitlines())) <= 120
    assert "sr-push" in text
    assert "exact" in text
    cells = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(cell["carrier"], cell["fault"]) for cell in cells] == [
        ("reread", "none"),
        ("sr-push", "none"),
        ("reread", "cut"),
        ("sr-push", "cut"),
    ]
    assert {cell["verdict"]["word"] for cell in cells} == {"exact"}
    assert all(cell["meter"]["bytes_down"] > 0 for cell in cells)


def test_it_says_what_there_is() -> None:
    done = streamres("compare", "--list")

    assert done.returncode == 0
    for name in (b"final-only", b"sr-push", b"build-log", b"restart"):
        assert name in done.stdout


def test_a_name_that_is_none_is_said_with_those_that_are() -> None:
    done = streamres("compare", "--carriers", "pigeon")

    assert done.returncode == 1
    assert b"no carrier 'pigeon'" in done.stderr
    assert b"sr-push" in done.stderr


def test_a_command_of_ones_own_is_recorded_and_carried(tmp_path: Path) -> None:
    cast, out = tmp_path / "mine.cast", tmp_path / "cells.jsonl"
    script = r"for n in 1 2 3 4 5 6; do printf '\033[32m%s\033[0m\r\n' $n; sleep 0.12; done; exit 3"

    recorded = streamres("compare", "--record", str(cast), "--", "sh", "-c", script)
    done = streamres(
        "compare", "--work", str(cast), "--carriers", "sr-push", "--faults", "none", "--json", str(out)
    )

    assert recorded.returncode == 3
    head, *events = map(json.loads, cast.read_text().splitlines())
    assert head["version"] == 2
    assert "".join(text for _, code, text in events).replace("\r\r\n", "\r\n").count("\x1b[32m") == 6
    assert done.returncode == 0, done.stderr
    (cell,) = map(json.loads, out.read_text().splitlines())
    assert (cell["work"], cell["verdict"]["word"]) == ("mine", "exact")


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "not.cast"
    path.write_text("hello\n")

    done = streamres("compare", "--work", str(path))

    assert done.returncode == 1
    assert b"asciicast v2" in done.stderr
