"""The file that says which commands there are to run: `[[build]]` tables in TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, Final

from streamres.builds.arguments import PLACEHOLDER, TYPES, Argument
from streamres.errors import StreamresError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_SHELLS: Final = frozenset({"sh", "ash", "bash", "dash", "ksh", "zsh", "fish"})
_SCRIPT_OPTION: Final = re.compile(r"-[a-z]*c")

MAX_TIMEOUT_S: Final = 7 * 86_400
"""The longest that a file can allow a build to run."""

_Types = Mapping[str, tuple[str, tuple[type, ...]]]

_KEYS: Final[_Types] = {
    "name": ("a text", (str,)),
    "command": ("a list of words", (list,)),
    "title": ("a text", (str,)),
    "description": ("a text", (str,)),
    "cwd": ("a text", (str,)),
    "env": ("a table", (dict,)),
    "timeout_s": ("a number", (int, float)),
    "concurrency": ("an integer", (int,)),
    "arguments": ("a table", (dict,)),
}
_ARGUMENT_KEYS: Final[_Types] = {
    "type": ("a text", (str,)),
    "description": ("a text", (str,)),
    "choices": ("a list", (list,)),
    "pattern": ("a text", (str,)),
    "default": ("a text, an integer or a boolean", (str, int, bool)),
    "allow_dash": ("a boolean", (bool,)),
}


class ConfigError(StreamresError):
    """The file is not one of builds; the text says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One command that may be run."""

    name: str
    command: tuple[str, ...]
    cwd: Path
    title: str | None = None
    description: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of the server."""
    timeout_s: float = 3_600.0
    concurrency: int = 1
    """How many may run at a time; a further one is refused."""
    arguments: Mapping[str, Argument] = field(default_factory=dict)


def read_config(path: Path) -> tuple[Build, ...]:
    """Gives the builds of a file; a `cwd` is meant from the folder of the file.

    Raises:
        ConfigError: it cannot be read, or something in it is wrong.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ConfigError(f"{path}: {exc}") from exc
    where = str(path)
    if unknown := tables.keys() - {"build"}:
        raise ConfigError(f"{where}: there is no key {min(unknown)!r}; builds are tables [[build]]")
    listed = tables.get("build", [])
    if not isinstance(listed, list) or not listed or not all(isinstance(table, dict) for table in listed):
        raise ConfigError(f"{where}: there is no table [[build]]")
    builds = tuple(_build(table, f"{where}: build {number}", path) for number, table in enumerate(listed, 1))
    names = [build.name for build in builds]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"{where}: there are two builds {min(twice)!r}")
    return builds


def _build(table: Mapping[str, Any], where: str, path: Path) -> Build:
    if isinstance(table.get("name"), str) and _NAME.fullmatch(table["name"]):
        where = f"{where} ({table['name']})"
    _check(table, _KEYS, where)
    for key in ("name", "command"):
        if key not in table:
            raise ConfigError(f"{where}: {key} is missing")
    if not _NAME.fullmatch(table["name"]):
        raise ConfigError(f"{where}: name is 1 to 64 of A-Z, a-z, 0-9, '_', '-' and '.'")
    if "timeout_s" in table and not 0 < table["timeout_s"] <= MAX_TIMEOUT_S:  # which nan is not either
        raise ConfigError(f"{where}: timeout_s is above 0, and at most {MAX_TIMEOUT_S}")
    if table.get("concurrency", 1) < 1:
        raise ConfigError(f"{where}: concurrency is at least 1")
    env = table.get("env", {})
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            raise ConfigError(f"{where}: env.{name!r} is no name of a variable")
        if not isinstance(value, str) or "\0" in value:
            raise ConfigError(f"{where}: env.{name!r} is a text without NUL")
    arguments = {
        name: _argument(name, of, f"{where}: argument {name!r}") for name, of in table.get("arguments", {}).items()
    }
    words = table["command"]
    _check_command(words, arguments, where)
    cwd = (path.parent / table.get("cwd", ".")).resolve()
    if not cwd.is_dir():
        raise ConfigError(f"{where}: cwd is no folder: {cwd}")
    rest = {
        key: table[key] for key in ("name", "title", "description", "timeout_s", "concurrency") if key in table
    }
    return Build(command=tuple(words), cwd=cwd, env=env, arguments=arguments, **rest)


def _check_command(words: list[object], arguments: Mapping[str, Argument], where: str) -> None:
    if not words or not all(isinstance(word, str) and word and "\0" not in word for word in words):
        raise ConfigError(f'{where}: command is a list of words, as ["make", "test"]')
    said = [str(word) for word in words]
    if PLACEHOLDER.search(said[0]):
        raise ConfigError(f"{where}: command: which program is run is not an argument")
    named = {found[1] for word in said for found in PLACEHOLDER.finditer(word)}
    if unknown := named - arguments.keys():
        raise ConfigError(f"{where}: command: {{{min(unknown)}}} is no argument")
    if unused := arguments.keys() - named:
        raise ConfigError(f"{where}: command: the argument {min(unused)!r} is not in it")
    if PurePath(said[0]).name in _SHELLS:
        for option, script in pairwise(said):
            if _SCRIPT_OPTION.fullmatch(option) and (found := PLACEHOLDER.search(script)):
                raise ConfigError(
                    f'{where}: command: {found[0]} in a shell\'s script would be run; write "$1" there, and'
                    f' "sh", "{found[0]}" as the words after it'
                )


def _argument(name: str, table: object, where: str) -> Argument:
    if not isinstance(table, dict) or not PLACEHOLDER.fullmatch(f"{{{name}}}"):
        raise ConfigError(f"{where}: an argument is a table, its name letters, digits and '_'")
    _check(table, _ARGUMENT_KEYS, where)
    if table.get("type", "string") not in TYPES:
        raise ConfigError(f"{where}: type is one of {', '.join(TYPES)}")
    if table.get("choices") == []:
        raise ConfigError(f"{where}: choices is empty")
    if "pattern" in table and table.get("type", "string") != "string":
        raise ConfigError(f"{where}: pattern is for the type string")
    said = dict(table)
    try:
        if "pattern" in said:
            said["pattern"] = re.compile(said["pattern"])
    except re.error as exc:
        raise ConfigError(f"{where}: pattern is no regular expression: {exc}") from exc
    argument = Argument(name=name, **{**said, "choices": tuple(said.get("choices", ()))})
    for value in (*argument.choices, *(() if argument.default is None else (argument.default,))):
        if (why := argument.refusal(value)) is not None:
            raise ConfigError(f"{where}: {value!r} {why}")
    return argument


def _check(table: Mapping[str, Any], keys: _Types, where: str) -> None:
    for key, value in table.items():
        if key not in keys:
            raise ConfigError(f"{where}: there is no key {key!r}; there is {', '.join(keys)}")
        what, types = keys[key]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise ConfigError(f"{where}: {key} is {what}")
