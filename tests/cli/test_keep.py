"""What is kept is there afterwards: after the end, after a kill, for two servers at once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from requirement import requirement

from .program import TIMEOUT_S, environment, line_of, live, python, started, streamres

if TYPE_CHECKING:
    from pathlib import Path


@requirement("SR-4.2.b")
@requirement("S1")
def test_what_was_pushed_is_there_after_a_restart_and_a_cursor_goes_on(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'deep' / 'store.db'}"
    with live("serve", "--port", "0", "--store", store) as server:
        with started("push", server.url, "build://7/log") as push, started("tail", server.url) as tail:
            assert push.stdin is not None
            push.stdin.write(b"one\n")
            push.stdin.flush()
            assert line_of(tail) == b"one\n"
            tail.send_signal(signal.SIGINT)
            said = tail.communicate(timeout=TIMEOUT_S)[1].decode()
            push.communicate(b"two\n", timeout=TIMEOUT_S)
        server.process.kill()
    cursor = re.search(r"--since (\S+)", said)
    assert cursor is not None

    with live("serve", "--port", "0", "--store", store) as server:
        rest = streamres("tail", server.url, "build://7/log", "--since", cursor[1])
        listed = streamres("ls", server.url).stdout.decode().split()

    assert (rest.stdout, rest.stderr) == (b"two\n", b"")
    assert listed[:4] == ["build://7/log", "text", "complete", "8"]


def test_run_keeps_its_log_where_serve_finds_it(tmp_path: Path) -> None:
    env = {**environment(), "XDG_DATA_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "streamres", "run", "--port", "0", "--keep", "--uri", "build://7/log"]
    done = subprocess.run([*command, "--", "echo", "kept"], capture_output=True, timeout=TIMEOUT_S, env=env)
    again = subprocess.run([*command, "--", "echo", "kept"], capture_output=True, timeout=TIMEOUT_S, env=env)

    with live("serve", "--port", "0", "--store", f"sqlite:{tmp_path / 'streamres' / 'streams.db'}") as server:
        assert streamres("tail", server.url, "build://7/log").stdout == b"kept\n"
    assert (done.returncode, done.stdout) == (0, b"kept\n")
    assert (again.returncode, again.stdout) == (125, b""), "a command whose log has no place is not run"
    assert b"build://7/log" in again.stderr


@requirement("SR-5.3.b")
def test_the_log_of_a_run_that_was_killed_is_sealed_as_aborted_by_whoever_serves_it(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'store.db'}"
    command = python("import signal; print('cut', flush=True); signal.alarm(30); signal.pause()")
    with (
        live("serve", "--port", "0", "--store", store) as server,
        live("run", "--port", "0", "--store", store, "--uri", "build://7/log", "--", *command) as run,
        started("tail", server.url) as tail,
    ):
        assert line_of(tail) == b"cut\n"
        os.kill(run.process.pid, signal.SIGKILL)
        rest, said = tail.communicate(timeout=TIMEOUT_S)

    assert (tail.returncode, rest) == (0, b"")
    assert b"aborted" in said
    assert list(tmp_path.glob("*.producer-*")) == []


@requirement("SR-4.2.a")
def test_two_servers_of_one_file_answer_each_others_cursors_and_wake_each_others_readers(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'store.db'}"
    with (
        live("serve", "--port", "0", "--store", store) as one,
        live("serve", "--port", "0", "--store", store) as other,
        started("push", one.url, "build://7/log") as push,
    ):
        assert push.stdin is not None
        with started("tail", other.url) as tail:
            for line in (b"one\n", b"two\n"):
                push.stdin.write(line)
                push.stdin.flush()
                assert line_of(tail) == line
            push.communicate(timeout=TIMEOUT_S)
            assert (tail.communicate(timeout=TIMEOUT_S)[0], tail.returncode) == (b"", 0)


def test_a_store_that_cannot_be_opened_is_said_and_the_command_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"no database at all, and long enough to be none" * 100)
    for address in (f"sqlite:{tmp_path / 'text'}", f"sqlite:{tmp_path}", "postgres://x", "sqlite:"):
        serve = streamres("serve", "--port", "0", "--store", address)
        run = streamres("run", "--port", "0", "--store", address, "--", "touch", str(tmp_path / "ran"))

        assert (serve.returncode, run.returncode) == (1, 125)
        for done in (serve, run):
            assert done.stderr.count(b"\n") == 1, done.stderr.decode()
            assert address.removeprefix("sqlite:").encode() in done.stderr
    assert not (tmp_path / "ran").exists()
