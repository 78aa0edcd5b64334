"""The requirements file says what the note says, and the tests write their checks in the suite's shape."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.requirements import NOTE, REQUIREMENTS, outside, rendered, sentences

SMALL_NOTE = """
- **SR-1.1.a** A cursor MUST be
  opaque.
- **SR-1.1.b** A server MAY move it, and: it's sealed.
- **SR-1.2** It SHOULD be short.
- **SR-1.10** A patch MUST be whole. (A note.)
- **SR-2.1.a** A link MUST be there.

| SR-1.1 | yes | |
| SR-1.2 | part | over HTTP; SR-1.10 no (json) |
| SR-2 | no | no tools |
"""

SOME_TESTS = """
import pytest
from requirement import requirement as about

@about("SR-5.8")
def test_passes(): ...

@about("SR-5.8")
def test_fails():
    assert not "reached"

@about("SR-5.6")
@about("P1")
def test_passes_too(): ...

@about("SR-5.1")
def test_is_skipped():
    pytest.skip("no")

@pytest.fixture
def broken():
    raise OSError("no disk")

@about("SR-5.2.a")
def test_cannot_begin(broken): ...
"""


def test_the_requirements_are_those_of_the_note() -> None:
    again = f"run: {sys.executable} tests/conformance/requirements.py --write"

    assert REQUIREMENTS.read_text() == rendered(NOTE.read_text()), again


def test_every_sentence_of_the_note_that_obliges_has_an_id() -> None:
    assert outside(NOTE.read_text()) == []


def test_no_two_sentences_of_the_note_have_one_id() -> None:
    ids = [sentence.clause for sentence in sentences(NOTE.read_text())]

    assert len(ids) == len(set(ids))


def test_a_sentence_is_taken_whole_and_what_is_not_built_is_excluded() -> None:
    _, _, rows = rendered(SMALL_NOTE).partition("requirements:\n")

    assert rows == (
        "  - check: sep-0000-streamable-resources-sr-1.1.a\n"
        "    text: A cursor MUST be opaque.\n"
        "  - check: sep-0000-streamable-resources-sr-1.2\n"
        "    text: It SHOULD be short.\n"
        "\n"
        "  - text: A patch MUST be whole. (A note.)\n"
        "    excluded: 'Not built yet: json'\n"
        "  - text: A link MUST be there.\n"
        "    excluded: 'Not built yet: no tools'\n"
    )


def test_a_duty_without_an_id_is_found() -> None:
    assert outside("A server MUST hurry.\n" + SMALL_NOTE) == ["A server MUST hurry."]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with some tests, and the checks that they wrote to `checks`."""
    directory = tmp_path_factory.mktemp("run")
    (directory / "test_some.py").write_text(SOME_TESTS)
    assert checked(directory).returncode == pytest.ExitCode.TESTS_FAILED
    return directory


def checked(directory: Path) -> subprocess.CompletedProcess[str]:
    plain = ["-p", "no:cacheprovider", "-p", "conformance.checks", "--rootdir", str(directory)]
    command = [sys.executable, "-m", "pytest", *plain, "-c", "/dev/null", "--checks", "checks", "test_some.py"]
    tests = {"PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.run(
        command, cwd=directory, env=tests, capture_output=True, text=True, timeout=60, check=False
    )


def checks_of(directory: Path) -> dict[str, dict[str, Any]]:
    return {
        check["name"]: check
        for check in json.loads((directory / "checks" / "test_some" / "checks.json").read_text())
    }


def test_a_test_that_names_a_clause_speaks_for_its_sentences(run: Path) -> None:
    checks = checks_of(run)

    assert {name for name in checks if name.startswith("SR-5.6")} == {"SR-5.6.a", "SR-5.6.b"}
    assert checks["SR-5.6.a"]["status"] == "SUCCESS"
    assert checks["SR-5.6.a"]["id"] == "sep-0000-streamable-resources-sr-5.6.a"
    assert "invalid_cursor" in checks["SR-5.6.a"]["description"]


def test_one_test_that_fails_makes_its_sentences_fail_as_severely_as_they_oblige(run: Path) -> None:
    checks = checks_of(run)

    assert checks["SR-5.8.b"]["status"] == "FAILURE"
    assert checks["SR-5.8.a"]["status"] == "WARNING"
    assert "test_fails" in checks["SR-5.8.b"]["errorMessage"]
    assert len(checks["SR-5.8.b"]["details"]["tests"]) == 2


def test_a_test_that_cannot_begin_fails_and_one_that_is_skipped_says_nothing(run: Path) -> None:
    checks = checks_of(run)

    assert checks["SR-5.2.a"]["status"] == "FAILURE"
    assert not any(name.startswith("SR-5.1") for name in checks)


def test_the_checks_of_another_run_are_not_mixed_in(run: Path) -> None:
    assert checked(run).returncode == pytest.ExitCode.USAGE_ERROR
