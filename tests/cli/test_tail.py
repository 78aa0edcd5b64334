"""`streamres tail`, `ls`, `serve` and `push`."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import pytest
from requirement import requirement

from cli.program import TIMEOUT_S, environment, line_of, live, python, started, streamres, written


def test_last_lines_are_counted_from_the_end() -> None:
    code = "print(*range(1000), sep='\\n'); print('x' * 5000); print('end' * 99, end='')"
    with live("run", "--port", "0", "--linger", "60", "--", *python(code)) as run:
        whole = streamres("tail", run.url).stdout

        assert streamres("tail", run.url, "--last", "1").stdout == b"end" * 99
        assert streamres("tail", run.url, "--last", "4").stdout == b"\n".join(whole.split(b"\n")[-4:])
        assert streamres("tail", run.url, "--last", "0").stdout == b""
        assert streamres("tail", run.url, "--last", "100000").stdout == whole


@requirement("SR-5.2")
def test_an_interrupted_tail_says_the_cursor_from_which_another_goes_on() -> None:
    with live("serve", "--port", "0") as server, started("push", server.url, "a:b") as push:
        written(push, b"one\n")
        with started("tail", server.url) as tail:
            assert line_of(tail) == b"one\n"
            tail.send_signal(signal.SIGINT)
            _, err = tail.communicate(timeout=TIMEOUT_S)
        assert tail.returncode == 130
        cursor = re.search(r"--since (\S+)", err.decode())
        assert cursor is not None
        push.communicate(b"two\n", timeout=TIMEOUT_S)
        assert push.returncode == 0

        assert streamres("tail", server.url, "a:b", f"--since={cursor[1]}").stdout == b"two\n"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nothing:here"], "no resource 'nothing:here'"),
        (["--since", "garbage"], "not a cursor"),
    ],
    ids=["unknown URI", "wrong cursor"],
)
def test_what_cannot_be_tailed_is_said(args: list[str], words: str) -> None:
    with live("run", "--port", "0", "--linger", "60", "--", "true") as run:
        done = streamres("tail", run.url, *args)

    assert done.returncode == 1
    assert words in done.stderr.decode()
    assert done.stdout == b""


def test_without_follow_a_server_that_is_not_there_is_an_error() -> None:
    done = streamres("tail", "http://127.0.0.1:1/mcp", "--no-follow")

    assert done.returncode == 1
    assert "nothing answers at http://127.0.0.1:1/mcp" in done.stderr.decode()


def test_a_closed_output_ends_tail_quietly_even_where_the_log_is_quiet() -> None:
    with live("run", "--port", "0", "--", "sh", "-c", "echo 1; sleep 50") as run:
        script = f"{sys.executable} -m streamres tail {run.url} | head -n 1; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, timeout=TIMEOUT_S, check=False, env=environment()
        )

    assert (done.returncode, done.stdout, done.stderr) == (141, b"1\n", b"")


@pytest.mark.parametrize("url", ["127.0.0.1:8765", "ftp://host/", "http://", "http://\x1b/"])
def test_what_is_no_url_is_said(url: str) -> None:
    done = streamres("tail", url)

    assert done.returncode == 1
    assert "is not a" in done.stderr.decode()


def test_push_makes_the_resource_seals_it_and_ls_shows_it() -> None:
    with live("serve", "--port", "0") as server:
        assert (
            streamres("push", server.url, "build://1/log", stdin="tail \N{EURO SIGN}\n".encode()).returncode == 0
        )
        assert streamres("push", server.url, "build://2/log", stdin=b"\xff").returncode == 0

        listed = streamres("ls", server.url).stdout.decode()

        assert listed == "build://1/log\ttext\tcomplete\t9\t2\nbuild://2/log\ttext\tcomplete\t3\t2\n"
        assert streamres("tail", server.url).stdout.decode() == "\N{REPLACEMENT CHARACTER}"
        server.process.send_signal(signal.SIGTERM)
        assert server.end()[0] == 0


@requirement("SR-9.3")
def test_push_after_the_seal_is_refused_in_words() -> None:
    with live("serve", "--port", "0") as server:
        streamres("push", server.url, "build://1/log", stdin=b"x")

        done = streamres("push", server.url, "build://1/log", stdin=b"y")

    assert done.returncode == 1
    assert "sealed (complete); nothing can be added" in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_an_interrupted_push_seals_as_aborted() -> None:
    with live("serve", "--port", "0") as server, started("push", server.url, "a:b") as push:
        written(push, b"one\n")
        with started("tail", server.url) as tail:
            assert line_of(tail) == b"one\n"

            push.send_signal(signal.SIGTERM)

            assert push.wait(TIMEOUT_S) == 130
            _, err = tail.communicate(timeout=TIMEOUT_S)
        assert "aborted" in err.decode()
        assert streamres("ls", server.url).stdout.decode().split("\t")[2] == "aborted"


def test_serve_on_a_port_in_use_fails_in_words() -> None:
    with live("serve", "--port", "0") as server:
        done = streamres("serve", "--port", str(server.port))

    assert done.returncode == 1
    assert "address already in use" in done.stderr.decode()
