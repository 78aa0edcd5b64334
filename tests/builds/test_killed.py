"""A server that is killed leaves no build behind and no log open; one that is flooded stays small."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from cli.program import TIMEOUT_S, live
from mcp.client import Client
from requirement import requirement

from .scene import Host, gone, write_builds

if TYPE_CHECKING:
    import subprocess

    from mcp_types import CallToolResult

FLOOD_BYTES = 100_000_000


@requirement("SR-5.3.b")
async def test_a_server_that_is_killed_leaves_no_process_behind_and_its_log_is_sealed(tmp_path: Path) -> None:
    args = (
        "serve",
        "--port",
        "0",
        "--store",
        f"sqlite:{tmp_path / 's.db'}",
        "--config",
        str(write_builds(tmp_path)),
    )
    with live(*args) as server:
        async with Client(server.url) as client:
            host = Host(client)
            uri = (await host.run("quiet", wait_s=0)).structured_content["uri"]
            said = await host.read_until(uri, "\n")  # it says no more, so no closed pipe can end it
            server.process.kill()
            server.process.wait(TIMEOUT_S)
    await gone(int(said))

    with live(*args) as server:
        async with Client(server.url) as client:
            host = Host(client)
            read = (await host.call("read_output", uri=uri)).structured_content
            unknown = await host.call("cancel_build", uri=uri)

    assert (read["text"], read["state"], read["more"]) == (said, "aborted", False)
    assert unknown.is_error
    assert list(tmp_path.glob("*.producer-*")) == []


@requirement("SR-6.4")
async def test_a_flood_with_a_slow_reader_is_kept_and_costs_no_memory(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 's.db'}"
    with live("serve", "--port", "0", "--store", store, "--config", str(write_builds(tmp_path))) as server:
        async with Client(server.url) as client:
            host = Host(client)
            await host.run("say", what="warm")
            before = peak_bytes(server.process)
            done: list[CallToolResult] = []

            async def run() -> None:
                done.append(await host.run("floods", wait_s=TIMEOUT_S))

            async def read_slowly() -> None:
                uris: list[str] = []
                while not uris:
                    listed = (await client.list_resources()).resources
                    uris = [str(one.uri) for one in listed if one.name == "floods"]
                cursor = ""
                while not done:  # a little, and a little later a little more
                    page = await host.call("read_output", uri=uris[0], since=cursor, max_bytes=1_000)
                    cursor = page.structured_content["cursor"]
                    await anyio.sleep(0.02)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read_slowly)
                tasks.start_soon(run)
            answer = done[0].structured_content
            listed = {str(one.uri): one for one in (await client.list_resources()).resources}
            grown = peak_bytes(server.process) - before

    assert (answer["state"], answer["exit_code"], len(answer["tail"]) < 10_000) == ("ended", 0, True)
    assert listed[answer["uri"]].size == FLOOD_BYTES
    assert grown < 48 * 1024 * 1024, f"{grown:,} bytes more for {FLOOD_BYTES:,}"


def peak_bytes(process: subprocess.Popen[bytes]) -> int:
    """The most that a process ever had in memory."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024
