"""How long a check waits, and how much it takes, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds that a check waits, each with the reason for its number."""

    connect_s: float = 5.0
    """For a connection."""

    soon_s: float = 5.0
    """For whatever is due: an answer, an update after a commit. A server that needs longer is not live."""

    quiet_s: float = 0.4
    """For what must not come. A server that is wrong sends it at once."""

    hold_s: float = 0.6
    """What `waitMs` asks for where nothing happens."""

    early_s: float = 0.15
    """By how much an answer may come before `hold_s` is up: clocks and timers differ."""

    patience_s: float = 5.0
    """For a change that the check cannot make."""

    check_s: float = 90.0
    """For one check of one clause."""


ANSWER_BYTES = 64 * 1024 * 1024
"""Longest answer or event that is read; a longer one is reported, not held."""

HOSTILE_CURSOR_CHARS = 100_000
"""Length of the longest cursor that is sent (SR-12.2): far above any real one, below every limit on a body."""

MANY_URIS = 20_000
"""URIs in one subscription by which a limit is looked for (SR-12.3): 600 kB of filter."""

REPORTED_CHARS = 600
"""Most characters of a message in the report for people; `--json` has all of it."""
