"""The clauses of the note, from its text. `PYTHONPATH=tests python -m check.note` writes them for the check."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
NOTE = ROOT / "spec-notes" / "streamable-resources.md"
TABLE = ROOT / "streamres" / "check" / "clauses.json"

# An item of a list: its id, then its text on this line and on the indented ones after it.
ITEM = re.compile(r"^- \*\*(SR-[\w.]+)\*\* (.+(?:\n  .+)*)", re.MULTILINE)


def sentences() -> dict[str, str]:
    return {name: " ".join(text.split()) for name, text in ITEM.findall(NOTE.read_text())}


if __name__ == "__main__":
    TABLE.write_text(json.dumps(sentences(), indent=1, ensure_ascii=False) + "\n")
