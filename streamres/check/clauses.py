"""The clauses: their ids, sentences and levels, as the note has them, and the demands of the core it leans on."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Level = Literal["MUST", "SHOULD", "MAY"]

CHECK_ID_PREFIX: Final = "sep-0000-streamable-resources-"
"""As in tests/conformance: the official suite counts only checks named after a SEP, and 0000 is none yet."""
NOTE_URL: Final = "spec-notes/streamable-resources.md"

CORE: Final[Mapping[str, str]] = {
    "MCP-ack-first": (
        "The server MUST send `notifications/subscriptions/acknowledged` as the first message carrying the "
        "subscription's ID in `_meta` under `io.modelcontextprotocol/subscriptionId`, and MUST NOT send any "
        "notification on the subscription before it."
    ),
    "MCP-caching-hints": (
        'Servers MUST include caching hints on results with `resultType: "complete"` returned by '
        "`resources/list`, `resources/templates/list` and `resources/read`."
    ),
    "MCP-graceful-end": (
        "When the server ends a subscription on its own initiative, it SHOULD respond to the original "
        "`subscriptions/listen` request with a completion result before closing the stream."
    ),
    "MCP-response-id": "Result responses MUST include the same ID as the request they correspond to.",
    "MCP-result-type": "The `result` MUST include a `resultType` field to indicate the type of the result.",
    "MCP-subscription-id": (
        "For messages on a subscription the server MUST include `io.modelcontextprotocol/subscriptionId` in "
        "`_meta`: the JSON-RPC ID of the `subscriptions/listen` request."
    ),
}
"""What MCP 2026-07-28 demands of every server and this note rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One sentence that has an id."""

    id: str
    sentence: str
    level: Level

    @property
    def check_id(self) -> str:
        """The id in the shape of the official conformance suite."""
        return self.id.lower() if self.id in CORE else f"{CHECK_ID_PREFIX}{self.id.lower()}"


@cache
def clauses() -> Mapping[str, Clause]:
    """Gives every clause by its id, in the order of the report."""
    note = json.loads(files(__package__).joinpath("clauses.json").read_text("utf-8"))
    both = {**CORE, **note}
    return {
        name: Clause(id=name, sentence=sentence, level=level_of(sentence))
        for name, sentence in sorted(both.items(), key=lambda item: order_of(item[0]))
    }


def level_of(sentence: str) -> Level:
    """Gives the strongest of the words of BCP 14 in a sentence."""
    levels: tuple[Level, ...] = ("MUST", "SHOULD")
    return next((level for level in levels if level in sentence), "MAY")


def order_of(name: str) -> tuple[int, list[tuple[int, str]]]:
    """Gives what clause ids are sorted by: the core first, then by number."""
    parts = re.split(r"[.-]", name)[1:]
    return name.startswith("SR-"), [(int(part), "") if part.isdigit() else (0, part) for part in parts]
