"""The note, its golden frames and the tests say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from wire.golden import exchanges, paths, read

from streamres.client.wire import read_update, updated
from streamres.model import decode_cursor

ROOT = Path(__file__).parent.parent
NOTE = (ROOT / "spec-notes" / "streamable-resources.md").read_text()
FRAMES = paths()
INVARIANTS = re.compile(r"[CKMPSTV][1-7]")


def clauses() -> set[str]:
    """Every id of a normative sentence, and of the clause that it is a part of."""
    ids = set(re.findall(r"\*\*(SR-\d+\.\d+(?:\.[a-z])?)\*\*", NOTE))
    return ids | {parent(clause) for clause in ids}


def parent(clause: str) -> str:
    return ".".join(clause.split(".")[:2])


def not_built() -> set[str]:
    """The clauses that the note's own status says the prototype does not implement."""
    rows = re.findall(r"^\| (SR-[^|]+) \| no \|", NOTE, re.MULTILINE)
    return {clause for row in rows for clause in re.findall(r"SR-\d+(?:\.\d+)?(?:\.[a-z])?", row)}


def named_by_tests() -> set[str]:
    return {
        name
        for path in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r'@requirement\(\s*"([^"]+)"', path.read_text())
    }


def test_every_test_names_a_clause_of_the_note_or_an_invariant() -> None:
    unknown = {name for name in named_by_tests() - clauses() if INVARIANTS.fullmatch(name) is None}

    assert not unknown


def test_every_clause_that_is_built_has_a_test() -> None:
    tested, missing = named_by_tests(), not_built()

    untested = {
        clause
        for clause in clauses()
        if not any(clause == other or clause.startswith(f"{other}.") for other in missing)
        and not {clause, parent(clause)} & tested
        and not any(other.startswith(f"{clause}.") for other in missing | tested)
    }

    assert not untested


@pytest.mark.parametrize("path", FRAMES, ids=lambda path: path.stem)
def test_the_clauses_of_a_golden_file_are_in_the_note(path: Path) -> None:
    assert set(read(path)["clauses"]) <= clauses()


def test_the_table_has_every_golden_file() -> None:
    readme = (ROOT / "spec-notes" / "wire" / "README.md").read_text()

    assert sorted(re.findall(r"^\| `(\S+\.json)` \|", readme, re.MULTILINE)) == [path.name for path in FRAMES]


@pytest.mark.parametrize("path", FRAMES, ids=lambda path: path.stem)
def test_a_golden_frame_is_read_by_our_client(path: Path) -> None:
    for request, message in exchanged(path):
        if "cursor" in message.get("result", {}):
            uri = request["params"]["uri"]
            assert decode_cursor(read_update(uri, message["result"]).cursor, uri).length >= 0
        if message.get("method") == "notifications/resources/updated":
            event = updated(message["params"])
            assert event.cursor is None or decode_cursor(event.cursor, event.uri).epoch > 0


def exchanged(path: Path) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for case in read(path)["cases"]:
        for request, message in exchanges(case):
            if request is not None:
                yield request, message


def within(part: object, whole: object) -> bool:
    """Whether an object has all members of another, at every depth."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and within(value, whole[name]) for name, value in part.items())
    return part == whole


QUOTED = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", NOTE, re.DOTALL)]


@pytest.mark.parametrize("quoted", QUOTED, ids=lambda quoted: quoted.get("method", "result"))
def test_what_the_note_quotes_is_in_a_golden_file(quoted: dict[str, Any]) -> None:
    pairs = [pair for path in FRAMES for pair in exchanged(path)]

    if "jsonrpc" in quoted:
        assert quoted in [message for _, message in pairs], "a server's frame is quoted whole"
    else:
        assert any(within(quoted, request) for request, _ in pairs)
