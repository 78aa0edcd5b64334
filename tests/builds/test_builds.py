"""Builds as tools, with real commands: run, read, stopped, out of time, too many, too much."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from requirement import requirement
from tools.caller import TAKES_PARTIALS, TAKES_TASKS, Caller, both, calling, streams

from streamres import Limits, Server
from streamres.builds import offer_builds, read_config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LINES = "import sys; [print('line', n) for n in range(int(sys.argv[1]))]"
FORKING = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.execvp("sleep", ["sleep", "1000"])
print(os.getpid(), flush=True)
time.sleep(1000)
"""
FAILING = """
import time
print("test one ... ok", flush=True)
time.sleep(0.2)
print("test two ... FAIL", flush=True)
time.sleep(1000)
"""


def config(tmp_path: Path) -> Path:
    python = sys.executable
    builds = {
        "lines": (
            ["{python}", "-c", LINES, "{{n}}"],
            "",
        ),
        "fails": (["sh", "-c", "echo out; echo err >&2; exit 3"], ""),
        "forks": (["{python}", "-c", FORKING], ""),
        "tests": (["{python}", "-c", FAILING], ""),
        "slow": (["sh", "-c", "echo begun; sleep 1000"], "timeout_s = 0.3\n"),
        "waits": (["sh", "-c", "cat; echo end"], ""),
        "floods": (["sh", "-c", "yes 0123456789 | head -c 50000000"], ""),
        "nothing": (["/nowhere/at/all"], ""),
    }
    text = ""
    for name, (words, more) in builds.items():
        quoted = ", ".join(repr_toml(word.replace("{python}", python).replace("{{n}}", "{n}")) for word in words)
        text += f"[[build]]\nname = '{name}'\ncommand = [{quoted}]\n{more}"
        if "{{n}}" in words[-1]:
            text += "[build.arguments.n]\ntype = 'integer'\ndefault = 3\n"
    path = tmp_path / "builds.toml"
    path.write_text(text)
    return path


def repr_toml(word: str) -> str:
    return '"""' + word.replace("\\", "\\\\").replace('"', '\\"') + '"""'


@asynccontextmanager
async def building(tmp_path: Path, limits: Limits | None = None) -> AsyncIterator[Caller]:
    server = Server("test", limits=limits)
    offered = offer_builds(server, read_config(config(tmp_path)))
    async with calling(server) as caller:
        try:
            yield caller
        finally:
            await offered.end_all()


def run(name: str, **more: object) -> dict[str, Any]:
    return {"name": name, **more}


async def whole(caller: Caller, uri: str) -> tuple[str, str]:
    """The log as `read_output` gives it, call after call."""
    text, given = "", {"uri": uri, "wait_ms": 5_000, "max_bytes": 1_000}
    while True:
        answer = (await caller.call("read_output", given)).result["structuredContent"]
        text += answer["text"]
        given["since"] = answer["cursor"]
        if answer["state"] != "open" and not answer["more"]:
            return text, answer["state"]


@requirement("SR-8.3.a")
async def test_a_build_is_run_and_its_result_says_how_it_ended(tmp_path: Path) -> None:
    async with building(tmp_path) as caller:
        done = (await caller.call("run_build", run("lines", arguments={"n": 500}))).result
        answer = done["structuredContent"]
        assert (answer["state"], answer["exit_code"], "isError" in done) == ("ended", 0, False)
        assert done["content"][0]["text"].startswith("lines succeeded, after ")
        assert done["content"][0]["text"].endswith("line 498\nline 499\n")
        assert done["content"][0]["text"].count("\n") < 60
        assert done["content"][1]["uri"] == answer["uri"]
        expected = "".join(f"line {number}\n" for number in range(500))
        assert await whole(caller, answer["uri"]) == (expected, "complete")

        failed = (await caller.call("run_build", run("fails"))).result
        assert (failed["isError"], failed["structuredContent"]["exit_code"]) == (True, 3)
        assert await whole(caller, failed["structuredContent"]["uri"]) == ("out\nerr\n", "complete")
        assert (await caller.call("run_build", run("waits"))).text.endswith("end\n")


async def test_only_what_is_listed_is_run_and_read(tmp_path: Path) -> None:
    async with building(tmp_path) as caller:
        (tool, *_) = (await caller.ask("tools/list", {})).result["tools"]
        assert tool["inputSchema"]["properties"]["name"]["enum"][0] == "lines"
        assert "n: integer, default 3" in tool["description"]
        for wrong in (run("sh"), run("lines", arguments={"n": "1; id"}), run("lines", command="id"), {}):
            assert (await caller.call("run_build", wrong)).result["isError"] is True
        await caller.ask("resources/read", {"uri": "x:y"})
        for uri in ("run://other/log", "task:x", "build://other/1", "file:///etc/passwd"):
            called = await caller.call("read_output", {"uri": uri})
            assert (called.result["isError"], "no log of a build" in called.text) == (True, True)
        assert (await caller.call("cancel_build", {"uri": "build://lines/1"})).result["isError"] is True
        called = await caller.call("run_build", run("nothing"))
        assert "no such file" in called.text


async def test_a_failing_run_is_stopped_at_its_first_failure(tmp_path: Path) -> None:
    async with building(tmp_path) as caller:
        begun = (await caller.call("run_build", run("tests", wait_s=0))).result
        uri = begun["structuredContent"]["uri"]
        assert (begun["structuredContent"]["state"], "isError" in begun) == ("running", False)
        text, cursor = "", None
        while "FAIL" not in text:
            given = {"uri": uri, "wait_ms": 5_000} | ({} if cursor is None else {"since": cursor})
            answer = (await caller.call("read_output", given)).result["structuredContent"]
            text, cursor = text + answer["text"], answer["cursor"]
        stopped = (await caller.call("cancel_build", {"uri": uri})).result
        again = (await caller.call("cancel_build", {"uri": uri})).result

        assert again["structuredContent"] == stopped["structuredContent"]
        assert "isError" not in stopped
        assert stopped["structuredContent"]["state"] == "cancelled"
        assert await whole(caller, uri) == ("test one ... ok\ntest two ... FAIL\n", "aborted")


async def test_a_stopped_build_leaves_nothing_of_its_group_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamres.builds.group.STOP_S", 0.3)
    async with building(tmp_path) as caller:
        uri = (await caller.call("run_build", run("forks", wait_s=0))).result["structuredContent"]["uri"]
        answer = (await caller.call("read_output", {"uri": uri, "wait_ms": 5_000})).result["structuredContent"]
        while not answer["text"]:
            answer = (await caller.call("read_output", {"uri": uri, "wait_ms": 5_000})).result["structuredContent"]
        group = int(answer["text"])
        assert (await caller.call("run_build", run("forks"))).text.startswith("forks runs already, 1 of 1")

        await caller.call("cancel_build", {"uri": uri})

        with anyio.fail_after(5):
            while lives(group):
                await anyio.sleep(0.01)


def lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_build_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    async with building(tmp_path) as caller:
        called = await caller.call("run_build", run("slow"))

        assert called.text.startswith("slow failed: it did not end within 0.3 s")
        assert await whole(caller, called.result["structuredContent"]["uri"]) == ("begun\n", "aborted")


@requirement("SR-12.3")
async def test_a_build_that_writes_too_much_is_stopped_and_keeps_what_it_had(tmp_path: Path) -> None:
    async with building(tmp_path, Limits(output_bytes=1_000_000)) as caller:
        called = await caller.call("run_build", run("floods"))

        assert "output_bytes" in called.text
        read = await caller.read(called.result["structuredContent"]["uri"])
        assert (read["state"], len(read["contents"][0]["text"])) == ("aborted", 1_000_000)


@requirement("SR-8.2")
async def test_for_a_client_that_takes_tasks_it_is_one_and_its_cancellation_stops_it(tmp_path: Path) -> None:
    async with building(tmp_path) as caller:
        task = (await caller.call("run_build", run("tests", wait_s=0), both(TAKES_TASKS, streams()))).result
        assert task["resultType"] == "task"
        (link,) = task["outputs"]
        await caller.ask("tasks/cancel", {"taskId": task["taskId"]}, TAKES_TASKS)
        await caller.until(task["taskId"], "cancelled")
        assert (await caller.read(link["uri"]))["state"] == "aborted"


@requirement("SR-11.1.a")
async def test_for_a_client_that_takes_partials_it_is_told_in_them(tmp_path: Path) -> None:
    async with building(tmp_path) as caller:
        called = await caller.call("run_build", run("lines"), TAKES_PARTIALS, {"partialResultToken": 1})

        text = "".join(block["text"] for partial in called.partials for block in partial["content"])
        assert text == "line 0\nline 1\nline 2\n"


@requirement("T1")
async def test_a_caller_that_goes_while_it_waits_stops_the_build(tmp_path: Path) -> None:
    async with building(tmp_path) as caller:
        params = {"name": "run_build", "arguments": run("tests")}
        with anyio.fail_after(10):
            async with caller.begin("tools/call", params, streams()) as (_, messages):
                uri = (await anext(messages))["params"]["outputs"][0]["uri"]
            assert (await whole(caller, uri))[1] == "aborted"
