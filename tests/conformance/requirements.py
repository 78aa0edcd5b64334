"""The note's normative sentences as the requirements file of SEP-2484; run with `--write` to make it anew.

A sentence with MUST or SHOULD gets a row; MAY obliges nobody. What section 15 of the note says is not built is
excluded, with its reason.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
NOTE: Final = ROOT / "spec-notes" / "streamable-resources.md"
REQUIREMENTS: Final = Path(__file__).parent / "src" / "seps" / "sep-0000.yaml"

HEAD: Final = """\
# Made from spec-notes/streamable-resources.md by tests/conformance/requirements.py --write.
# 0000 is the SEP guidelines' placeholder: no number is assigned. Checks are named sep-0000-… because the suite
# counts no others; with a number, both and spec_url become those of the SEP.
"""

_SENTENCE: Final = re.compile(r"^- \*\*(SR-\d+\.\d+(?:\.[a-z])?)\*\* (.+(?:\n  .+)*)", re.MULTILINE)
_NORMATIVE: Final = re.compile(r"\b(?:MUST|SHOULD)\b")
_STATUS: Final = re.compile(r"^\| (SR-[^|]+) \| (yes|part|no) \| *([^|]*?) *\|$", re.MULTILINE)
_CLAUSE: Final = re.compile(r"SR-\d+(?:\.\d+)?(?:\.[a-z])?")
_EXCEPTION: Final = re.compile(rf"({_CLAUSE.pattern}) no\b(?: \(([^)]*)\))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence that obliges somebody; `excluded` says why no test can hold it yet."""

    clause: str
    text: str
    excluded: str | None = None

    @property
    def check(self) -> str:
        return f"sep-0000-streamable-resources-{self.clause.lower()}"

    @property
    def obliges(self) -> bool:
        """Whether breaking it is a failure; where it only says SHOULD, it is a warning."""
        return "MUST" in self.text

    def belongs_to(self, clause: str) -> bool:
        """Whether `clause` names this sentence or one that it is a part of."""
        return f"{self.clause}.".startswith(f"{clause}.")


def sentences(note: str) -> Iterator[Sentence]:
    """Gives the note's sentences in its order."""
    missing = dict(_not_built(note))
    for clause, lines in _SENTENCE.findall(note):
        text = " ".join(lines.split())
        if _NORMATIVE.search(text) is None:
            continue
        sentence = Sentence(clause=clause, text=text)
        reasons = [reason for other, reason in missing.items() if sentence.belongs_to(other)]
        yield Sentence(clause=clause, text=text, excluded=reasons[0]) if reasons else sentence


def outside(note: str) -> list[str]:
    """The lines that oblige somebody outside a sentence with an id; the reference to BCP 14 does not."""
    rest = _SENTENCE.sub("", note)
    return [line for line in rest.splitlines() if _NORMATIVE.search(line) and "BCP 14" not in line]


def rendered(note: str) -> str:
    """Gives the requirements file: what is checked first, then a blank line and what is excluded."""
    every = list(sentences(note))
    checked = [{"check": one.check, "text": one.text} for one in every if one.excluded is None]
    excluded = [{"text": one.text, "excluded": one.excluded} for one in every if one.excluded is not None]
    about = {"sep": 0, "spec_url": NOTE.relative_to(ROOT).as_posix()}
    rows = "\n".join(indent(_dumped(part), "  ") for part in (checked, excluded) if part)
    return f"{HEAD}{_dumped(about)}requirements:\n{rows}"


def _dumped(part: object) -> str:
    return yaml.safe_dump(part, sort_keys=False, allow_unicode=True, width=sys.maxsize)


def _not_built(note: str) -> Iterator[tuple[str, str]]:
    """Each clause that section 15 says is not built, in its own row or as an exception in one, and why."""
    for clauses, status, remark in _STATUS.findall(note):
        if status == "no":
            for clause in _CLAUSE.findall(clauses):
                yield clause, f"Not built yet: {remark}" if remark else "Not built yet"
        for clause, reason in _EXCEPTION.findall(remark):
            yield clause, f"Not built yet: {reason}" if reason else "Not built yet"


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: requirements.py --write")
    REQUIREMENTS.write_text(rendered(NOTE.read_text()))
