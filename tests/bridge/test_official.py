"""Servers of the official SDK behind the bridge, unchanged: the new era and the older, over HTTP and stdio."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from requirement import requirement
from tools.caller import TAKES_TASKS, both

from streamres import Client, ConnectionLost, RpcError

from .scene import STREAMS, bridged, links

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from .scene import Scene

SERVER = str(Path(__file__).with_name("official_server.py"))
LINES = "step 0\nstep 1\nstep 2\n"


def command(kind: str, old_sdk: Path) -> list[str]:
    run = [sys.executable, SERVER, kind, ""]
    return run if kind == "new" else ["env", f"PYTHONPATH={old_sdk}", *run]


@contextmanager
def http_server(kind: str, old_sdk: Path, port: int) -> Iterator[str]:
    environment = dict(os.environ) if kind == "new" else {**os.environ, "PYTHONPATH": str(old_sdk)}
    process = subprocess.Popen(
        [sys.executable, SERVER, kind, str(port)], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        while process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait(10)


async def builds(scene: Scene) -> None:
    """The official server's progress is a text here, which a late joiner has too."""
    (tool, *_) = (await scene.caller.ask("tools/list", {})).result["tools"]
    assert (tool["name"], tool["description"], tool["inputSchema"]["required"]) == ("build", "Builds.", ["steps"])

    called = await scene.caller.call("build", {"steps": 3}, STREAMS, {"progressToken": "p"})

    assert called.text == "3 steps"
    assert called.result["structuredContent"] == {"result": "3 steps"}
    told = called.heard("notifications/progress")
    assert [params["message"] for params in told] == LINES.splitlines()
    assert {params["progressToken"] for params in told} == {"p"}
    found = links(called)
    assert set(found) == {"progress"}
    async with Client(scene.caller.url) as late:
        followed = [update.text async for update in late.follow(found["progress"]["uri"])]
    assert "".join(followed) == LINES


@pytest.mark.parametrize("kind", ["new", "old"])
async def test_a_server_over_stdio(kind: str, old_sdk: Path) -> None:
    async with bridged(command(kind, old_sdk)) as scene:
        assert (await scene.upstream._connection.settle()).is_legacy == (kind == "old")
        await builds(scene)


@pytest.mark.parametrize("kind", ["new", "old"])
async def test_a_server_over_http(kind: str, old_sdk: Path, free_port: int) -> None:
    with http_server(kind, old_sdk, free_port) as url:
        async with bridged(url) as scene:
            assert (await scene.upstream._connection.settle()).is_legacy == (kind == "old")
            await builds(scene)


@asynccontextmanager
async def before(transport: str, kind: str, old_sdk: Path, port: int) -> AsyncIterator[Scene]:
    with (
        nullcontext(command(kind, old_sdk)) if transport == "stdio" else http_server(kind, old_sdk, port) as server
    ):
        async with bridged(server) as scene:
            yield scene


@pytest.mark.parametrize("kind", ["new", "old"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_caller_that_goes_cancels_the_call(
    transport: str, kind: str, old_sdk: Path, free_port: int, tmp_path: Path
) -> None:
    mark = tmp_path / "cancelled"
    async with before(transport, kind, old_sdk, free_port) as scene:
        params = {"name": "wait", "arguments": {"mark": str(mark)}}
        async with scene.caller.begin("tools/call", params, STREAMS) as (_, messages):
            await scene.named(messages, "progress")
        while not mark.exists():
            await anyio.sleep(0.01)
        await builds(scene)


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_big_result_comes_through(transport: str, old_sdk: Path, free_port: int) -> None:
    async with before(transport, "old", old_sdk, free_port) as scene:
        called = await scene.caller.call("big", {"size": 3_000_000}, STREAMS)
        assert len(called.text) == 3_000_000


@requirement("SR-8.2")
async def test_a_call_of_a_server_without_tasks_is_a_task_here(old_sdk: Path) -> None:
    async with bridged(command("old", old_sdk), task_after_s=0) as scene:
        begun = (await scene.caller.call("build", {"steps": 3}, both(TAKES_TASKS, STREAMS))).result
        assert begun["resultType"] == "task"
        ended = await scene.caller.until(begun["taskId"], "completed")
        (output,) = (await scene.caller.task(begun["taskId"], both(TAKES_TASKS, STREAMS)))["outputs"]
        assert await scene.caller.whole(output["uri"]) == LINES
        assert ended["result"]["content"][0] == {"type": "text", "text": "3 steps"}


@pytest.mark.parametrize("kind", ["new", "old"])
async def test_a_server_that_dies_ends_its_call_with_an_error_and_is_started_again_for_the_next(
    kind: str, old_sdk: Path
) -> None:
    async with bridged(command(kind, old_sdk)) as scene:
        died = await scene.caller.call("die", {}, STREAMS)
        assert (died.error["code"], died.error["data"]) == (-32603, {"reason": "upstream"})

        await builds(scene)


async def test_an_upstream_that_is_not_there_is_said_at_once(free_port: int) -> None:
    for upstream in (f"http://127.0.0.1:{free_port}/mcp", ["/nowhere/at-all"]):
        with pytest.raises(ConnectionLost):
            async with bridged(upstream):
                pass


async def test_an_upstream_without_tools_is_said_at_once() -> None:
    code = "import anyio; from streamres import Server; anyio.run(Server('bare').serve_stdio)"
    with pytest.raises(RpcError) as raised:
        async with bridged([sys.executable, "-c", code]):
            pass
    assert raised.value.code == -32601


async def test_a_command_that_speaks_no_mcp_is_said() -> None:
    with pytest.raises(ConnectionLost), anyio.fail_after(20):
        async with bridged([sys.executable, "-c", "print('hello')"]):
            pass
