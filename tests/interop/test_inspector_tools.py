"""The Inspector's command line, unchanged, lists and calls tools in both eras, over HTTP and over stdio."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from requirement import requirement
from server.wire import STREAM

from .inspecting import Inspector, every_era, result
from .tool_site import LINES, site

TOOL_SITE = [sys.executable, str(Path(__file__).with_name("tool_site.py"))]


@every_era
async def test_it_lists_tools_and_calls_one_with_arguments(inspector: Inspector, era: str) -> None:
    async with site() as (_, url):
        listed = {tool["name"]: tool for tool in result(await inspector(era, "tools/list", url))["tools"]}
        add = ["--tool-name", "add", "--tool-arg", "a=2", "b=3", "--", url]
        called = result(await inspector(era, "tools/call", *add))

    assert list(listed) == ["add", "build", "deploy", "greet", "locate"]
    assert listed["add"]["inputSchema"]["required"] == ["a"]
    assert called["structuredContent"] == {"total": 5}


@requirement("SR-8.3")
@every_era
async def test_it_reads_the_output_that_the_result_of_a_call_links(inspector: Inspector, era: str) -> None:
    async with site() as (made, url):
        made.go_on.set()
        text, link = result(await inspector(era, "tools/call", "--tool-name", "build", "--", url))["content"]
        (contents,) = result(await inspector(era, "resources/read", "--uri", link["uri"], "--", url))["contents"]

    assert (text["text"], link["type"]) == ("built", "resource_link")
    assert contents["text"] == "".join(LINES)


@requirement("SR-8.1.b")
@every_era
async def test_with_metadata_the_link_says_where_the_output_stands(inspector: Inspector, era: str) -> None:
    async with site() as (made, url):
        made.go_on.set()
        call = ["--tool-name", "build", "--metadata", f"{STREAM}={{}}", "--", url]
        _, link = result(await inspector(era, "tools/call", *call))["content"]

    assert link["_meta"] == {STREAM: {"stream": {"kind": "text", "state": "complete", "revision": 3}}}


@every_era
async def test_it_shows_that_a_call_has_failed(inspector: Inspector, era: str) -> None:
    async with site() as (_, url):
        done = await inspector(era, "tools/call", "--tool-name", "add", "--tool-arg", "b=3", "--", url)

    assert json.loads(done.stdout)["result"]["isError"] is True


@every_era
async def test_it_calls_a_tool_of_a_server_that_it_starts(inspector: Inspector, era: str) -> None:
    text, _ = result(await inspector(era, "tools/call", "--tool-name", "build", "--", *TOOL_SITE))["content"]

    assert text["text"] == "built"
