"""The rules of the house that a program can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "streamres"

# Each room may import those before it; rooms in one row do not import each other.
FLOORS = [
    {"errors", "limits", "check"},
    {"model"},
    {"store", "protocol"},
    {"server"},
    {"transport"},
    {"client", "sources"},
    {"tools"},
    {"bridge"},
    {"observe"},  # reads the numbers of the rooms below, which know nothing of it
    {"app", "integrations"},
    {"builds", "carriers"},
    {"compare"},
    {"cli"},
    {"__main__"},
]
PURE = {"model", "protocol"}
IO_LIBRARIES = {"anyio", "asyncio", "httpx2", "socket", "starlette", "uvicorn", "os", "time", "random", "secrets"}


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str() as module):
                found.add(module)
    return found


def floor_of(room: str) -> int:
    return next(index for index, rooms in enumerate(FLOORS) if room in rooms)


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_room_imports_only_the_rooms_below_it(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return

    imported = imports_of(path)

    for name in imported:
        if name.startswith("streamres."):
            other = name.split(".")[1]
            assert other == room or floor_of(other) < floor_of(room), f"{room} imports {name}"
    if room in PURE:
        assert not {name.split(".")[0] for name in imported} & IO_LIBRARIES


def test_the_official_sdk_is_known_to_its_integration_alone_which_nothing_imports() -> None:
    for path in PACKAGE.rglob("*.py"):
        imported = imports_of(path)
        known = {name for name in imported if name.split(".")[0] in ("mcp", "mcp_types")}
        integrations = {name for name in imported if name.startswith("streamres.integrations")}
        assert not integrations, path.name
        assert not known or path == PACKAGE / "integrations" / "mcp_sdk.py", path.name


def test_the_check_shares_no_code_with_what_it_checks() -> None:
    for path in (PACKAGE / "check").rglob("*.py"):
        ours = {name for name in imports_of(path) if name.split(".")[0] == "streamres"}
        assert {name for name in ours if not name.startswith("streamres.check")} == set(), path.name


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]],
    ids=["lint", "format", "types"],
)
def test_the_code_is_clean(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_names_a_machine_or_a_registry() -> None:
    words = ["/wor" + "k/", "/roo" + "t/", "pythonhoste" + "d", "registry.np" + "m"]
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout.split("\0")

    for name in filter(None, tracked):
        text = (ROOT / name).read_text(errors="replace")
        assert not [word for word in words if word in text], name
