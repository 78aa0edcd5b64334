"""The file that says which commands there are to run: `[[build]]` tables in TOML."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from streamres.builds.arguments import PLACEHOLDER, TYPES, Argument
from streamres.errors import StreamresError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_KEYS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "name": str,
    "command": list,
    "title": str,
    "description": str,
    "cwd": str,
    "env": dict,
    "timeout_s": (int, float),
    "concurrency": int,
    "arguments": dict,
}
_ARGUMENT_KEYS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "type": str,
    "description": str,
    "choices": list,
    "pattern": str,
    "default": (str, int, bool),
    "allow_dash": bool,
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
    if isinstance(table.get("name"), str):
        where = f"{where} ({table['name']})"
    _check(table, _KEYS, where)
    for key in ("name", "command"):
        if key not in table:
            raise ConfigError(f"{where}: {key} is missing")
    if not _NAME.fullmatch(table["name"]):
        raise ConfigError(f"{where}: name is 1 to 64 of A-Z, a-z, 0-9, '_', '-' and '.'")
    words = table["command"]
    if not words or not all(isinstance(word, str) and word for word in words):
        raise ConfigError(f'{where}: command is a list of words, as ["make", "test"]')
    for key in ("timeout_s", "concurrency"):
        if key in table and (isinstance(table[key], bool) or table[key] <= 0):
            raise ConfigError(f"{where}: {key} is above 0")
    env = table.get("env", {})
    if not all(isinstance(value, str) for value in env.values()):
        raise ConfigError(f"{where}: the values of env are texts")
    arguments = {
        name: _argument(name, of, f"{where}: argument {name}") for name, of in table.get("arguments", {}).items()
    }
    named = set(_placeholders(words))
    if PLACEHOLDER.search(words[0]):
        raise ConfigError(f"{where}: which program is run is not an argument")
    if unknown := named - arguments.keys():
        raise ConfigError(f"{where}: {{{min(unknown)}}} is in the command, and no argument")
    if unused := arguments.keys() - named:
        raise ConfigError(f"{where}: the argument {min(unused)!r} is not in the command")
    cwd = (path.parent / table.get("cwd", ".")).resolve()
    if not cwd.is_dir():
        raise ConfigError(f"{where}: cwd is no folder: {cwd}")
    rest = {
        key: table[key] for key in ("name", "title", "description", "timeout_s", "concurrency") if key in table
    }
    return Build(command=tuple(words), cwd=cwd, env=env, arguments=arguments, **rest)


def _argument(name: str, table: object, where: str) -> Argument:
    if not isinstance(table, dict) or not PLACEHOLDER.fullmatch(f"{{{name}}}"):
        raise ConfigError(f"{where}: an argument is a table, its name letters, digits and '_'")
    _check(table, _ARGUMENT_KEYS, where)
    if table.get("type", "string") not in TYPES:
        raise ConfigError(f"{where}: type is one of {', '.join(TYPES)}")
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


def _placeholders(words: list[str]) -> Iterator[str]:
    for word in words:
        yield from (found[1] for found in PLACEHOLDER.finditer(word))


def _check(table: Mapping[str, Any], keys: Mapping[str, type | tuple[type, ...]], where: str) -> None:
    for key, value in table.items():
        if key not in keys:
            raise ConfigError(f"{where}: there is no key {key!r}; there is {', '.join(keys)}")
        if not isinstance(value, keys[key]):
            raise ConfigError(f"{where}: {key} has the wrong type")
