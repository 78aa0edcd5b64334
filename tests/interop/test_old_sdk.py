"""The last official SDK of the older era, unchanged, in a process of its own."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio
from requirement import requirement
from server.wire import URI, serving

SCRIPT = Path(__file__).with_name("old_client.py")


@requirement("SR-10.5")
@requirement("SR-10.1")
async def test_mcp_1_30_connects_lists_reads_and_gets_a_delta_through_meta(old_sdk: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(old_sdk)}
    async with serving() as wire:
        await wire.append("old ")
        since = await wire.cursor()
        await wire.append("and new")

        with anyio.fail_after(30):
            done = await anyio.run_process(
                [sys.executable, str(SCRIPT), wire.url, URI, since], env=environment, check=False
            )

        assert done.returncode == 0, done.stderr.decode()
        head = await wire.cursor()

    said = json.loads(done.stdout)
    assert said["version"] == "2025-11-25"
    assert said["listed"] == [URI]
    assert said["text"] == "old and new"
    assert said["contents"] == 0
    assert said["stream"] == {
        "cursor": head,
        "revision": 2,
        "state": "open",
        "delta": {"from": since, "to": head, "kind": "text", "text": "and new"},
    }
