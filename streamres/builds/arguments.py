"""The arguments of a build: what the file says of them, and the command that a client's values make.

Nothing goes to a shell: a value is a part of one word of the command, whatever is in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from streamres.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CHARS: Final = 1_000
"""Longest value of an argument."""

PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")

Value = str | int | bool

TYPES: Final[Mapping[str, type]] = {"string": str, "integer": int, "boolean": bool}
"""What the type of an argument is called in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument."""

    name: str
    type: str = "string"
    description: str | None = None
    choices: tuple[Value, ...] = ()
    pattern: re.Pattern[str] | None = None
    default: Value | None = None
    """None where a client has to say it."""
    allow_dash: bool = False
    """Whether a word of the command may begin with a value that begins with `-`, and so look like an option."""

    def described(self) -> str:
        """Gives what a model is told of it, with its name."""
        return f"{self.name}: {self.says()}"

    def says(self) -> str:
        """Gives what a model is told of it."""
        says = [self.type if not self.choices else " | ".join(map(str, self.choices))]
        if self.pattern is not None:
            says.append(f"matches {self.pattern.pattern}")
        if self.default is not None:
            says.append(f"default {self.default}")
        if self.description is not None:
            says.append(self.description)
        return ", ".join(says)

    def refusal(self, value: object) -> str | None:
        """Gives why a value is none of it; None where it is one."""
        if type(value) is not TYPES[self.type]:
            return f"is no {self.type}"
        if self.choices and value not in self.choices:
            return f"is none of {', '.join(map(str, self.choices))}"
        if not isinstance(value, str):
            return None
        if len(value) > MAX_CHARS:
            return f"is longer than {MAX_CHARS} characters"
        if not value.isprintable():
            return "has characters that cannot be printed"
        if self.pattern is not None and not self.pattern.fullmatch(value):
            return f"does not match {self.pattern.pattern}"
        return None


def command_of(
    words: tuple[str, ...], arguments: Mapping[str, Argument], given: Mapping[str, object]
) -> tuple[str, ...]:
    """Gives the words of the command with the values in their places.

    Raises:
        ToolError: a value is missing, or none that the file allows.
    """
    if unknown := given.keys() - arguments.keys():
        raise ToolError(f"there is no argument {min(unknown)!r}; there is {', '.join(arguments) or 'none'}")
    values: dict[str, str] = {}
    for name, argument in arguments.items():
        value = given.get(name, argument.default)
        if value is None:
            raise ToolError(f"the argument {argument.described()} is missing")
        if (why := argument.refusal(value)) is not None:
            raise ToolError(f"the argument {name} {why}")
        values[name] = str(value).lower() if isinstance(value, bool) else str(value)

    return tuple(_word(word, arguments, values) for word in words)


def _word(word: str, arguments: Mapping[str, Argument], values: Mapping[str, str]) -> str:
    whole = PLACEHOLDER.sub(lambda found: values[found[1]], word)
    if whole.startswith("-") and not word.startswith("-"):
        # Every placeholder before the first that has a value stands for nothing.
        name = next(found[1] for found in PLACEHOLDER.finditer(word) if values[found[1]])
        if not arguments[name].allow_dash:
            raise ToolError(f"the argument {name} begins with '-', and would be an option of the command")
    return whole
