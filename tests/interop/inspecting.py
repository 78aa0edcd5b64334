"""The Inspector's command line: how it is run, and what it says."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import anyio
import pytest
from cli.program import environment

from .node import NODE

Inspector = Callable[..., Awaitable[CompletedProcess[bytes]]]
"""Takes the era, the method and the other arguments, the server among them."""

every_era = pytest.mark.parametrize("era", ["legacy", "modern"])


def inspector_of(npm_directory: Path, home: Path) -> Inspector:
    """Runs `mcp-inspector --cli` with what it keeps below its home in a directory of its own."""
    program = npm_directory / "node_modules" / ".bin" / "mcp-inspector"
    variables = {**environment(), "HOME": str(home)}

    async def run(era: str, method: str, *args: str) -> CompletedProcess[bytes]:
        options = ["--protocol-era", era, "--method", method, "--format", "json"]
        with anyio.fail_after(60):
            command = [NODE, str(program), "--cli", *options, *args]
            return await anyio.run_process(command, env=variables, check=False)

    return run


def result(done: CompletedProcess[bytes]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)["result"]
