"""A file of builds and real servers over it: as a process of its own, over HTTP and over stdio."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
from cli.program import environment

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_types import CallToolResult
from mcp import StdioServerParameters
from mcp.client import Client

FILE = """
[[build]]
name = "say"
description = "Says one thing."
command = [{python}, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", "{what}", "{loud}", "{times}"]
[build.arguments.what]
description = "what to say"
[build.arguments.loud]
choices = ["loud", "quiet"]
default = "quiet"
[build.arguments.times]
type = "integer"
default = 1

[[build]]
name = "make"
command = ["make", "--silent", "GREETING={what}", "all"]
cwd = {folder}
[build.arguments.what]
pattern = "[a-z ]+"

[[build]]
name = "tests"
command = [{python}, "-u", "tests.py"]
cwd = {folder}

[[build]]
name = "quiet"
command = ["sh", "-c", "trap '' TERM; sleep 1000 & echo $$; wait; wait"]

[[build]]
name = "floods"
command = ["sh", "-c", "yes 0123456789abcde | head -c 100000000"]
"""
MAKEFILE = "all:\n\t@echo '$(GREETING)'; echo err >&2; false\n"
TESTS = """
import time
for number in range(1, 100):
    print(f"test {number} ...", "FAIL" if number == 7 else "ok", flush=True)
    time.sleep(0.01 if number < 8 else 1000)
"""


def write_builds(folder: Path) -> Path:
    """Writes the file, and what its builds need, into a folder."""
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "tests.py").write_text(TESTS)
    path = folder / "builds.toml"
    path.write_text(
        FILE.replace("{python}", json.dumps(sys.executable)).replace("{folder}", json.dumps(str(folder)))
    )
    return path


def stdio(folder: Path, store: str = "memory:", *more: str) -> StdioServerParameters:
    """What a host has in its configuration."""
    args = ["serve", "--stdio", "--store", store, "--config", str(write_builds(folder)), *more]
    return StdioServerParameters(command=sys.executable, args=["-m", "streamres", *args], env=environment())


class Host:
    """A host that has nothing but the text of tools: the official client, which declares nothing."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **given: object) -> CallToolResult:
        with anyio.fail_after(60):
            return await self.client.call_tool(tool, given)

    async def run(self, build: str, wait_s: float = 30, **arguments: object) -> CallToolResult:
        more = {"arguments": arguments} if arguments else {}
        return await self.call("run_build", name=build, wait_s=wait_s, **more)

    async def read_until(self, uri: str, word: str) -> str:
        """The log up to a word in it, page after page."""
        text, cursor = "", ""
        while word not in text:
            read = await self.call("read_output", uri=uri, since=cursor, wait_ms=10_000)
            assert not read.is_error, read.content[0].text
            answer = read.structured_content
            assert answer["state"] == "open" or answer["more"] or word in text + answer["text"], text
            text, cursor = text + answer["text"], answer["cursor"]
        return text


async def gone(group: int) -> None:
    """Returns when nothing is in a process group any more."""
    with anyio.fail_after(10), suppress(ProcessLookupError):
        while True:
            os.killpg(group, 0)
            await anyio.sleep(0.01)
