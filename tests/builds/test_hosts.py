"""Hosts of today: the official client, which only calls tools, and a real server over stdio and over HTTP."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from cli.program import live
from mcp.client import Client
from requirement import requirement

from streamres import Client as OwnClient

from .scene import Host, gone, stdio, write_builds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

over_each = pytest.mark.parametrize("transport", ["stdio", "http"])
SAFE = [
    "; rm -rf /",
    "$(touch made)",
    "`touch made`",
    "| tee made",
    "> made",
    "&& false",
    "{loud}",
    "%s",
    "*",
    "'\"",
]


@asynccontextmanager
async def host(transport: str, folder: Path) -> AsyncIterator[Host]:
    if transport == "stdio":
        async with Client(stdio(folder)) as client:
            yield Host(client)
        return
    config = str(write_builds(folder))
    with live("serve", "--port", "0", "--store", "memory:", "--config", config) as server:
        async with Client(server.url) as client:
            yield Host(client)


@over_each
async def test_it_sees_what_it_can_run_in_schemas_of_the_simplest_kind(transport: str, tmp_path: Path) -> None:
    async with host(transport, tmp_path) as one:
        tools = {tool.name: tool for tool in (await one.client.list_tools()).tools}

    assert list(tools) == ["run_build", "cancel_build", "read_output"]
    takes = tools["run_build"].input_schema["properties"]
    assert takes["name"] == {"type": "string", "enum": ["say", "make", "tests", "quiet", "floods"]}
    assert takes["arguments"]["properties"]["what"] == {
        "type": "string",
        "description": "of say: string, what to say; of make: string, matches [a-z ]+",
    }
    assert "- say: Says one thing.\n    what: string, what to say" in (tools["run_build"].description or "")
    for tool in tools.values():
        for schema in (tool.input_schema, tool.output_schema or {}):
            assert schema["type"] == "object"
            assert all(isinstance(member["type"], str) for member in schema["properties"].values())


@over_each
async def test_a_make_that_fails_is_told_whole_in_one_answer(transport: str, tmp_path: Path) -> None:
    async with host(transport, tmp_path) as one:
        done = await one.run("make", what="hello there")
        answer = done.structured_content
        read = await one.call("read_output", uri=answer["uri"])

    lines = answer["tail"].splitlines()
    assert (done.is_error, answer["state"], answer["exit_code"]) == (True, "ended", 2)
    assert lines[:2] == ["hello there", "err"]
    assert "make" in lines[2]
    for part in ("make failed: exit status 2, after ", answer["uri"], answer["tail"]):
        assert part in done.content[0].text
    assert read.content[0].text == read.structured_content["text"] == answer["tail"]
    assert (read.structured_content["state"], read.structured_content["more"]) == ("complete", False)


@over_each
async def test_a_value_cannot_leave_its_word(transport: str, tmp_path: Path) -> None:
    async with host(transport, tmp_path) as one:
        for value in SAFE:
            done = await one.run("say", what=value)
            assert json.loads(done.structured_content["tail"]) == [value, "quiet", "1"]
        for wrong in (
            {"what": "two\nlines"},
            {"what": "nul\0"},
            {"what": "\x1b[31m"},
            {"what": "-c"},
            {"what": "--flag"},
            {"what": "x" * 1_001},
            {"what": 7},
            {"what": ["a"]},
            {"what": None},
            {"what": "a", "loud": "louder"},
            {"what": "a", "times": "2"},
            {"what": "a", "times": -1},
            {"what": "a", "times": True},
            {"what": "a", "env": "PATH=x"},
            {},
        ):
            refused = await one.run("say", **wrong)
            assert (refused.is_error, refused.structured_content) == (True, None), wrong
        assert (await one.run("make", what="hi; touch made")).is_error
        assert (await one.run("sh")).is_error

    assert not (tmp_path / "made").exists()


@requirement("SR-8.3.a")
@over_each
async def test_tests_are_started_and_stopped_at_the_first_failure(transport: str, tmp_path: Path) -> None:
    async with host(transport, tmp_path) as one:
        begun = (await one.run("tests", wait_s=0)).structured_content
        assert (begun["state"], "exit_code" in begun) == ("running", False)
        again = await one.run("tests", wait_s=0)
        text = await one.read_until(begun["uri"], "FAIL")
        stopped = await one.call("cancel_build", uri=begun["uri"])
        rest = await one.call("read_output", uri=begun["uri"])
        third = await one.run("tests", wait_s=0)

    assert (again.is_error, begun["uri"] in again.content[0].text) == (True, True)
    assert text.endswith("test 7 ... FAIL\n")
    assert (stopped.is_error, stopped.structured_content["state"]) == (False, "cancelled")
    assert rest.structured_content["state"] == "aborted"
    assert rest.structured_content["text"].startswith(text)
    assert (third.is_error, third.structured_content["state"]) == (False, "running"), "there is room again"


@requirement("SR-8.3")
async def test_our_client_follows_the_log_and_the_digest_proves_it(tmp_path: Path) -> None:
    async with host("http", tmp_path) as one:
        begun = (await one.run("tests", wait_s=0)).structured_content
        text, state = "", ""
        with anyio.fail_after(30):
            async with OwnClient(str(one.client.server)) as client:
                async for update in client.follow(begun["uri"]):
                    text, state = text + (update.text or ""), update.state
                    if "FAIL" in text and state == "open":
                        await one.call("cancel_build", uri=begun["uri"])

    assert (text.endswith("test 7 ... FAIL\n"), state) == (True, "aborted")


async def test_a_host_that_closes_its_server_leaves_no_build_behind(tmp_path: Path) -> None:
    async with host("stdio", tmp_path) as one:
        begun: Any = (await one.run("quiet", wait_s=0)).structured_content
        group = int(await one.read_until(begun["uri"], "\n"))

    await gone(group)
