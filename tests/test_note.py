"""The note, its golden frames and the tests say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from requirement import requirement

from streamres import Client, Server
from streamres.client.wire import read_update, updated
from streamres.model import decode_cursor

ROOT = Path(__file__).parent.parent
NOTE = (ROOT / "spec-notes" / "streamable-resources.md").read_text()
FRAMES = sorted((ROOT / "spec-notes" / "wire").glob("*.json"))
INVARIANTS = re.compile(r"[CMPSTV][1-7]")


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


def messages_of(path: Path, sender: str) -> Iterator[dict[str, Any]]:
    for case in json.loads(path.read_text())["cases"]:
        for frame in case["frames"]:
            if frame.get("from") == sender and isinstance(frame.get("message"), dict):
                yield frame["message"]


@pytest.mark.parametrize("path", FRAMES, ids=lambda path: path.stem)
def test_the_clauses_of_a_golden_file_are_in_the_note(path: Path) -> None:
    assert set(json.loads(path.read_text())["clauses"]) <= clauses()


@pytest.mark.parametrize("path", FRAMES, ids=lambda path: path.stem)
def test_a_golden_frame_is_read_by_our_client(path: Path) -> None:
    for message in messages_of(path, "server"):
        result = message.get("result", {})
        if "cursor" in result:
            uri = "build://7/log"
            assert decode_cursor(read_update(uri, result).cursor, uri).length >= 0
        if message.get("method") == "notifications/resources/updated":
            event = updated(message["params"])
            assert event.cursor is None or decode_cursor(event.cursor, event.uri).epoch > 0


@requirement("SR-10.6")
async def test_the_golden_discovery_is_what_a_server_says() -> None:
    (golden,) = messages_of(ROOT / "spec-notes" / "wire" / "discover.json", "server")
    async with Server("builds").serve(port=0) as url, Client(url) as client:
        assert await client.discover() == golden["result"]
