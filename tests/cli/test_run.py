"""`streamres run`: the command runs as always, and its output is served."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from requirement import requirement

from cli.program import TIMEOUT_S, environment, line_of, live, python, sha256, started, streamres


def test_output_and_exit_code_are_those_of_the_command() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"

    done = streamres("run", "--port", "0", "--", *python(code))

    assert done.returncode == 7
    assert done.stdout == b"out\n"
    assert done.stderr.decode().splitlines()[1:] == ["err"]


def test_options_of_the_command_are_its_own_with_or_without_a_double_dash() -> None:
    done = streamres("run", "--port", "0", "printf", "%s", "--port")

    assert (done.returncode, done.stdout) == (0, b"--port")


@pytest.mark.parametrize(
    ("command", "code"),
    [("no-such-command", 127), ("/etc/passwd", 126)],
    ids=["not found", "not executable"],
)
def test_a_command_that_cannot_run_gives_the_codes_of_a_shell(command: str, code: int) -> None:
    done = streamres("run", "--port", "0", "--", command)

    assert done.returncode == code
    assert command in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_port_in_use_is_said_and_the_command_is_not_run(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        done = streamres("run", "--port", str(port), "--", "touch", str(tmp_path / "ran"))

    assert done.returncode == 125
    assert f"{port}: address already in use" in done.stderr.decode()
    assert not (tmp_path / "ran").exists()


@requirement("SR-2.1")
def test_bytes_that_are_not_utf8_are_shown_as_they_are_and_counted() -> None:
    done = streamres("run", "--port", "0", "--", "printf", r"a\377\376 b\342\202")

    assert done.stdout == b"a\xff\xfe b\xe2\x82"
    assert "4 bytes were not UTF-8" in done.stderr.decode()


def test_a_log_without_a_newline_at_its_end_stays_so() -> None:
    with live("run", "--port", "0", "--linger", "60", "--", "printf", "no newline") as run:
        assert streamres("tail", run.url).stdout == b"no newline"


def test_a_code_point_cut_on_one_stream_is_not_mixed_with_the_other(tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    code = (
        f"import os; wait = lambda: open({str(go)!r}).read(); os.write(1, b'\\xe2\\x82'); wait();"
        "os.write(2, b'err'); wait(); os.write(1, b'\\xac')"
    )
    with live("run", "--port", "0", "--linger", "60", "--", *python(code)) as run:
        out, err = run.process.stdout, run.process.stderr
        assert out is not None
        assert err is not None
        # What is mirrored is in the log already, so each piece is there before the next one is written.
        assert out.read(2) == b"\xe2\x82"
        go.write_text("")
        assert err.read(3) == b"err"
        go.write_text("")

        assert streamres("tail", run.url).stdout.decode() == "err\N{EURO SIGN}"


def test_where_output_and_error_go_to_one_place_the_log_has_their_order() -> None:
    code = "import os; [os.write(1 + n % 2, b'%d\\n' % n) for n in range(2000)]"
    expected = b"".join(b"%d\n" % number for number in range(2000))
    done = subprocess.run(
        [sys.executable, "-m", "streamres", "run", "--port", "0", "--", *python(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIMEOUT_S,
        check=True,
        env=environment(),
    )

    assert done.stdout.partition(b"\n")[2] == expected


def test_standard_output_closed_early_ends_the_command_as_always() -> None:
    script = f"{sys.executable} -m streamres run --port 0 -- yes | head -n 2; exit ${{PIPESTATUS[0]}}"

    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, timeout=TIMEOUT_S, check=False, env=environment()
    )

    assert done.stdout == b"y\ny\n"
    assert done.returncode == 128 + signal.SIGPIPE


def test_two_hundred_megabytes_go_through_unchanged() -> None:
    size = 200_000_000
    code = f"import os\nfor _ in range({size // 100_000}): os.write(1, b'0123456789' * 10_000)"

    done = streamres("run", "--port", "0", "--", *python(code))

    assert done.returncode == 0
    assert sha256(done.stdout) == sha256(b"0123456789" * (size // 10))


def test_a_child_that_keeps_the_output_open_holds_nothing_up() -> None:
    began = time.monotonic()

    done = streamres("run", "--port", "0", "--", "sh", "-c", "sleep 50 & echo started")

    assert (done.returncode, done.stdout) == (0, b"started\n")
    assert time.monotonic() - began < 40


@requirement("SR-3.4")
@pytest.mark.parametrize(
    ("command", "code", "state"),
    [
        (["sh", "-c", "echo x; exit 9"], 9, "complete"),
        (["sh", "-c", "echo x; kill -KILL $$"], 137, "aborted"),
    ],
    ids=["exit code", "killed"],
)
def test_the_seal_says_whether_the_command_came_to_its_own_end(command: list[str], code: int, state: str) -> None:
    with live("run", "--port", "0", "--linger", "60", "--", *command) as run:
        assert streamres("tail", run.url).stdout == b"x\n"
        listed = streamres("ls", run.url).stdout.decode().split("\t")
        run.process.send_signal(signal.SIGTERM)

        assert run.end()[0] == code
    assert listed[2] == state


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_is_passed_on_and_the_log_is_aborted(number: signal.Signals) -> None:
    code = (
        "import signal, sys\n"
        f"signal.signal({int(number)}, lambda *_: (print('caught'), sys.exit(5)))\n"
        "print('ready'); signal.pause()"
    )
    with live("run", "--port", "0", "--", *python(code)) as run, started("tail", run.url) as tail:
        assert line_of(tail) == b"ready\n"

        run.process.send_signal(number)

        assert run.end()[0] == 5
        out, err = tail.communicate(timeout=TIMEOUT_S)
    assert out == b"caught\n"
    assert "aborted" in err.decode()


def test_a_signal_ends_the_linger() -> None:
    with live("run", "--port", "0", "--linger", "600", "--", "true") as run:
        assert run.process.stderr is not None
        assert b"served for 600 s" in run.process.stderr.readline()

        run.process.send_signal(signal.SIGINT)

        assert run.end()[0] == 0


def test_full_disk_for_the_mirror_is_said_and_the_log_goes_on() -> None:
    with (
        open("/dev/full", "wb") as full,
        live("run", "--port", "0", "--linger", "60", "--", "echo", "x", stdout=full.fileno()) as run,
    ):
        assert streamres("tail", run.url).stdout == b"x\n"
        run.process.send_signal(signal.SIGTERM)
        code, _, words = run.end()

    assert code == 0
    assert "No space left" in words
