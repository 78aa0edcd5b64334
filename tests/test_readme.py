"""The README's code is run: its programs as they stand, its command lines against a real server."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest
from cli.program import TIMEOUT_S, environment, line_of, live, started, streamres, written
from mcp import StdioServerParameters
from mcp.client import Client

README = (Path(__file__).parent.parent / "README.md").read_text()


def program(name: str) -> str:
    found = re.search(rf"<!-- file: {name} -->\n```python\n(.*?)```", README, re.DOTALL)
    assert found is not None
    return found[1]


def command_lines() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    lines = [line.partition("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def test_the_server_and_the_follower_work_together(free_port: int, tmp_path: Path) -> None:
    for name in ("build_server.py", "build_follower.py"):
        (tmp_path / name).write_text(program(name).replace("8765", str(free_port)))
    with subprocess.Popen([sys.executable, tmp_path / "build_server.py"], env=environment()) as server:
        # The follower retries until the server has started.
        follower = subprocess.run(
            [sys.executable, tmp_path / "build_follower.py"],
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
            env=environment(),
        )

        assert server.wait(TIMEOUT_S) == 0
    assert follower.stdout == b"compiling\nlinking\ntesting\n"


def test_the_document_is_followed_as_it_changes(tmp_path: Path) -> None:
    (tmp_path / "document.py").write_text(program("document.py"))

    done = subprocess.run(
        [sys.executable, tmp_path / "document.py"],
        capture_output=True,
        timeout=TIMEOUT_S,
        check=True,
        env=environment(),
        text=True,
    )

    first, *_, last = done.stdout.splitlines()
    assert first == "None {'text': '', 'steps': []}"
    assert last.endswith("{'text': 'Reading the log. ', 'steps': [{'name': 'read', 'done': False}]}")
    assert done.stderr == ""


@pytest.mark.parametrize("line", [line for line in command_lines() if line.startswith("streamres")])
def test_each_command_line_does_what_it_says(line: str) -> None:
    with live("run", "--port", "0", "--linger", "60", "--", "echo", "from make test") as served:
        args = shlex.split(line.replace("http://127.0.0.1:8765", served.url).replace("make test", "echo built"))[
            1:
        ]
        if args[0] == "run":
            args[1:1] = ["--port", "0"]

        done = streamres(*args)

    assert done.returncode == 0, done.stderr.decode()
    shown = (b"built", b"from make test", b"run://", b"SR-5.5.a")
    assert any(words in done.stdout for words in shown)


def test_the_pipe_into_push_ends_in_the_resource() -> None:
    line = next(line for line in command_lines() if "push" in line)
    uri = line.split()[-1]
    with live("serve", "--port", "0") as server:
        shell = line.replace("make test", "echo built").replace("http://127.0.0.1:8765", server.url)
        shell = shell.replace("streamres", f"{sys.executable} -m streamres")
        subprocess.run(["bash", "-c", shell], check=True, timeout=TIMEOUT_S, env=environment())

        assert streamres("tail", server.url, uri).stdout == b"built\n"


def test_the_entry_for_a_host_starts_a_server_that_takes_pushes(free_port: int) -> None:
    found = re.search(r"```json\n(.*?)```", README, re.DOTALL)
    assert found is not None
    (entry,) = json.loads(found[1])["mcpServers"].values()
    args = [arg.replace("8765", str(free_port)) for arg in entry["args"]]

    with started(*args) as server:
        written(server, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        assert line_of(server) == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'

        assert streamres("push", f"http://127.0.0.1:{free_port}", "build://7/log", stdin=b"x").returncode == 0
    assert entry["command"] == "streamres"


def test_the_two_commands_set_everything_up_by_themselves() -> None:
    main_job = re.search(r"<!-- main job -->\n```bash\n(.*)\n```", README)
    tests = re.search(r"<!-- tests -->\n```bash\n(.*)\n```", README)

    assert main_job is not None
    assert tests is not None
    for command in (main_job[1], tests[1]):
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install -q ")


def test_a_server_of_the_official_sdk_has_what_is_made(free_port: int, tmp_path: Path) -> None:
    (tmp_path / "sdk_server.py").write_text(program("sdk_server.py").replace("8765", str(free_port)))
    with subprocess.Popen([sys.executable, tmp_path / "sdk_server.py"], env=environment()) as server:
        try:
            deadline = time.monotonic() + TIMEOUT_S
            url = f"http://127.0.0.1:{free_port}"
            while (listed := streamres("ls", url)).returncode and time.monotonic() < deadline:
                assert server.poll() is None
        finally:
            server.terminate()
    assert listed.stdout == b"build://7/log\ttext\topen\t0\t0\n"


async def test_a_host_starts_the_server_with_a_tool_and_calls_it(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text(program("tool.py"))
    server = StdioServerParameters(command=sys.executable, args=[str(tmp_path / "tool.py")])
    steps: list[str | None] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message)

    with anyio.fail_after(TIMEOUT_S):
        async with Client(server) as client:
            (tool,) = (await client.list_tools()).tools
            result = await client.call_tool("build", {"target": "docs", "steps": 3}, progress_callback=heard)
            text, link = result.content
            log = await client.read_resource(link.uri)

    assert (tool.description, list(tool.input_schema["properties"])) == ("Builds a target.", ["target", "steps"])
    assert text.text == "built docs"
    assert steps == ["step 1", "step 2", "step 3"]
    assert log.contents[0].text == "docs: step 1 of 3\ndocs: step 2 of 3\ndocs: step 3 of 3\n"


async def test_a_host_with_nothing_but_tools_runs_a_build_and_reads_its_log(tmp_path: Path) -> None:
    found = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    assert found is not None
    (tmp_path / "builds.toml").write_text(found[1].replace('"make", "test"', '"echo", "made"'))
    arguments = json.loads(re.findall(r"```json\n(.*?)\n```", README, re.DOTALL)[-1])["mcpServers"]["builds"][
        "args"
    ]
    options = ["--store", "memory:"]
    command = ["-m", "streamres", *arguments[:-1], str(tmp_path / arguments[-1]), *options]
    with anyio.fail_after(TIMEOUT_S):
        async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:
            done = await client.call_tool("run_build", {"name": "test", "arguments": {"target": "all"}})
            uri = done.structured_content["uri"]
            read = await client.call_tool("read_output", {"uri": uri})
            refused = await client.call_tool("run_build", {"name": "test", "arguments": {"target": "x; id"}})

    assert (done.structured_content["exit_code"], read.content[0].text) == (0, "made TARGET=all\n")
    assert refused.is_error
