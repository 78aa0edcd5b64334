"""What the tools of builds take and give, in schemas of the simplest kind, which every host understands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamres.builds.arguments import Argument
    from streamres.builds.config import Build

WAIT_S: Final = 20.0
"""Seconds that a client without tasks waits by default: below what hosts cut a call after."""

MAX_WAIT_S: Final = 3_600
"""Seconds that it can wait at most."""

RUN: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "uri": {"type": "string", "description": "The log, for read_output and cancel_build."},
        "state": {"type": "string", "enum": ["running", "ended", "cancelled", "timed_out", "failed"]},
        "exit_code": {"type": "integer", "description": "Not there where no command has ended."},
        "seconds": {"type": "number"},
        "cursor": {"type": "string", "description": "Give it to read_output as `since` for what follows."},
        "tail": {"type": "string", "description": "The last lines of the log so far."},
    },
    "required": ["name", "uri", "state", "seconds", "cursor", "tail"],
}
"""What `run_build` and `cancel_build` give."""

READ: Final = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "cursor": {"type": "string", "description": "Give it as `since` for what follows."},
        "state": {"type": "string", "enum": ["open", "complete", "aborted"]},
        "more": {"type": "boolean", "description": "Whether more is there already."},
        "reset": {"type": "string", "description": "Where it is there, the text begins anew."},
    },
    "required": ["text", "cursor", "state", "more"],
}
"""What `read_output` gives."""


def takes(builds: Sequence[Build]) -> dict[str, Any]:
    """Gives what `run_build` takes: one schema for all builds, whose descriptions say what is of which."""
    properties: dict[str, Any] = {"name": {"type": "string", "enum": [build.name for build in builds]}}
    of: dict[str, list[tuple[Build, Argument]]] = {}
    for build in builds:
        for argument in build.arguments.values():
            of.setdefault(argument.name, []).append((build, argument))
    if of:  # an object that can have no member is refused by some models' hosts
        properties["arguments"] = {
            "type": "object",
            "description": "What the build takes, by name.",
            "properties": {name: _merged(same) for name, same in of.items()},
        }
    properties["wait_s"] = {
        "type": "number",
        "minimum": 0,
        "maximum": MAX_WAIT_S,
        "description": f"Answers after so many seconds at the latest, by default {WAIT_S:g}; the build goes on,"
        " and read_output reads on. Keep it below the time after which the host gives a call up: that stops it.",
    }
    return {"type": "object", "properties": properties, "required": ["name"], "additionalProperties": False}


def described(build: Build) -> str:
    """Gives what a model is told of a build."""
    says = f"- {build.name}: {build.description or ' '.join(build.command)}"
    return "\n".join([says, *(f"    {argument.described()}" for argument in build.arguments.values())])


def _merged(same: Sequence[tuple[Build, Argument]]) -> dict[str, Any]:
    """Gives the schema of the arguments of one name."""
    kinds = list(dict.fromkeys(argument.type for _, argument in same))
    merged: dict[str, Any] = (
        {"type": kinds[0]} if len(kinds) == 1 else {"anyOf": [{"type": kind} for kind in kinds]}
    )
    if all(argument.choices for _, argument in same):
        merged["enum"] = list(dict.fromkeys(choice for _, argument in same for choice in argument.choices))
    merged["description"] = "; ".join(f"of {build.name}: {argument.says()}" for build, argument in same)
    return merged
