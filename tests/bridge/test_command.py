"""`streamres bridge` as a person or a host runs it: a process in front of a process."""

from __future__ import annotations

import json
import re
import signal
import sys
from typing import TYPE_CHECKING, Any

import anyio
from cli.program import line_of, live, started, streamres, written
from requirement import requirement
from server.wire import envelope, message

from streamres import Client

from .test_official import SERVER, http_server

if TYPE_CHECKING:
    from pathlib import Path


async def calls(url: str) -> tuple[str, str]:
    """What a call through the bridge gives, and the progress that a late joiner reads of it."""
    async with Client(url) as client:
        result = await client.call_tool("build", {"steps": 2})
        (link,) = [block for block in result.content if block["type"] == "resource_link"]
        text = "".join([update.text async for update in client.follow(link["uri"])])
        return result.text, text


@requirement("SR-11.2.a")
def test_it_serves_the_tools_of_a_command_until_it_is_told_to_end() -> None:
    with live("bridge", "--port", "0", "--store", "memory:", "--", sys.executable, SERVER, "new", "") as bridge:
        assert anyio.run(calls, bridge.url) == ("2 steps", "step 0\nstep 1\n")
        bridge.process.send_signal(signal.SIGTERM)
        code, _, err = bridge.end()
    assert code == 0
    assert err.rstrip().endswith("streamres: ending")


def test_it_serves_the_tools_of_a_url_and_keeps_what_they_put_out(tmp_path: Path, free_port: int) -> None:
    store = f"sqlite:{tmp_path / 'kept.db'}"
    with http_server("new", tmp_path, free_port) as url:
        with live("bridge", "--port", "0", "--store", store, url) as bridge:
            assert anyio.run(calls, bridge.url) == ("2 steps", "step 0\nstep 1\n")
            bridge.process.send_signal(signal.SIGINT)
            assert bridge.end()[0] == 0
        with live("serve", "--port", "0", "--store", store) as later:
            listed = streamres("ls", later.url).stdout.decode()
            (uri,) = re.findall(r"call://\S+/progress", listed)
            assert streamres("tail", later.url, uri).stdout == b"step 0\nstep 1\n"


def test_it_serves_the_client_that_started_it() -> None:
    def asking(number: int, method: str, **params: object) -> bytes:
        return message(method, {**params, "_meta": envelope("fields")}, request_id=number) + b"\n"

    def answer(number: int) -> dict[str, Any]:
        while True:
            frame: dict[str, Any] = json.loads(line_of(process))
            if frame.get("id") == number:
                return frame["result"]

    with started("bridge", "--stdio", "--store", "memory:", "--", sys.executable, SERVER, "new", "") as process:
        written(process, asking(1, "tools/list"))
        assert [tool["name"] for tool in answer(1)["tools"]] == ["build", "wait", "big", "die"]
        written(process, asking(2, "tools/call", name="build", arguments={"steps": 2}))
        (text, link) = answer(2)["content"]
        assert (text["text"], link["name"]) == ("2 steps", "progress")
        written(process, asking(3, "resources/read", uri=link["uri"]))
        assert answer(3)["contents"][0]["text"] == "step 0\nstep 1\n"
        out, _ = process.communicate(timeout=20)
        assert (process.returncode, out) == (0, b"")


def test_what_cannot_be_reached_is_said_in_a_line() -> None:
    done = streamres("bridge", "--store", "memory:", "--port", "0", "http://127.0.0.1:9/mcp")

    assert done.returncode == 1
    assert done.stderr.decode().count("\n") == 1
    assert "nothing answers at http://127.0.0.1:9/mcp" in done.stderr.decode()
