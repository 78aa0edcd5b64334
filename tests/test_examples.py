"""Every example is run, as a program of its own, and says what it promises to say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli.program import TIMEOUT_S, environment

EXAMPLES = Path(__file__).parent.parent / "examples"
STEPS = "".join(f"step {number} of 5\n" for number in range(1, 6))


def run(name: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *args],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
        env=environment(),
    )
    return done.stdout


def follow_until_it_is_there(url: str) -> str:
    # The follower itself waits for a server that is still starting.
    return run("follower.py", url)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 60


def test_the_follower_has_every_line_of_the_live_resource(free_port: int) -> None:
    with subprocess.Popen([sys.executable, EXAMPLES / "live_resource.py", str(free_port)]) as server:
        out = follow_until_it_is_there(f"http://127.0.0.1:{free_port}/mcp")

        assert server.wait(TIMEOUT_S) == 0
    assert out.startswith(STEPS)
    assert "[complete, verified against sha-256=:" in out


def test_a_reader_goes_on_from_its_cursor_where_it_was_cut() -> None:
    before, after = run("resume.py").split("after it, since ")

    assert before == "before the cut:\ncompiling\nlinking\n"
    assert after.partition("\n")[2] == "testing\n"


@pytest.mark.parametrize(("name", "path"), [("mount.py", "/builds/mcp"), ("official_sdk_server.py", "/mcp")])
def test_a_server_inside_another_is_followed_like_any_other(name: str, path: str, free_port: int) -> None:
    with subprocess.Popen([sys.executable, EXAMPLES / name, str(free_port)]) as server:
        out = follow_until_it_is_there(f"http://127.0.0.1:{free_port}{path}")
        server.terminate()

        assert server.wait(TIMEOUT_S) == -15
    assert out.startswith(STEPS)


def test_what_steers_a_task_is_named_by_the_output_that_answers_it() -> None:
    assert run("steering.py") == (
        "because of the call: bridges: there are three kinds\n"
        "because of wish-1: about cost: the second kind\n"
        "answered one who had seen some of it\n"
    )
