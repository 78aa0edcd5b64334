"""`streamres serve --stdio` as a host runs it: a child with three pipes, and a port for those who push."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from requirement import requirement
from server.wire import URI, envelope, message

from cli.program import TIMEOUT_S, environment, line_of, live, sha256, started, streamres, written

PING = b'{"jsonrpc":"2.0","id":"ping","method":"ping"}\n'
PONG = b'{"jsonrpc":"2.0","id":"ping","result":{}}\n'
CHATTY = Path(__file__).parent.parent / "transport" / "chatty_server.py"


def request(method: str, request_id: object = 1, **params: object) -> bytes:
    return message(method, {**params, "_meta": envelope("fields")}, request_id=request_id) + b"\n"


LISTEN = request("subscriptions/listen", 1, notifications={"resourceStreams": {URI: {"deliver": "delta"}}})


def frame_of(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    return json.loads(line_of(process))


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes, str]:
    out, err = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, out, err.decode()


@contextmanager
def served(*args: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server over stdio and HTTP, and its URL."""
    with started("serve", "--stdio", "--port", "0", *args) as process:
        assert process.stderr is not None
        found = re.search(rb"at (http://\S+)", process.stderr.readline())
        assert found is not None
        yield process, found[1].decode()


def test_what_is_pushed_over_http_is_what_the_client_hears_of_and_reads() -> None:
    with served() as (process, url):
        written(process, LISTEN)
        heard = [frame_of(process)]
        assert streamres("push", url, URI, stdin=b"compiling\n").returncode == 0
        while heard[-1].get("id") != 1:
            heard.append(frame_of(process))
        written(process, request("resources/read", 2, uri=URI))
        read = frame_of(process)
        code, out, _ = ended(process)

    assert heard[0]["method"] == "notifications/subscriptions/acknowledged"
    assert heard[-2]["params"]["state"] == "complete"
    assert heard[-1]["result"]["resultType"] == "complete"
    assert read["result"]["contents"][0]["text"] == "compiling\n"
    assert (code, out) == (0, b"")


@requirement("P5")
def test_the_end_of_input_ends_it_in_order_and_half_a_line_is_not_served() -> None:
    with started("serve", "--stdio") as process:
        written(process, LISTEN)
        frame_of(process)
        written(process, PING + PING.removesuffix(b"}\n"))

        code, out, err = ended(process)

    pong, result = out.splitlines(keepends=True)
    assert pong == PONG
    assert (json.loads(result)["id"], json.loads(result)["result"]["resultType"]) == (1, "complete")
    assert (code, err) == (0, "")


@requirement("P1")
@requirement("P2")
def test_lines_byte_by_byte_and_hostile_lines_between_them_each_get_one_answer() -> None:
    raw = '{"jsonrpc":"2.0","id":"\u2028","method":"ping"}\n'.encode()
    hostile = [b"hello", b"\xff\x00", b"[" * 5_000, b"[]", b"{}", b"null", raw.replace(b'"ping"', b"7").strip()]
    with started("serve", "--stdio") as process:
        for number in range(len(raw)):
            written(process, raw[number : number + 1])
        assert frame_of(process) == {"jsonrpc": "2.0", "id": "\u2028", "result": {}}
        written(process, b"\n".join(hostile) + b"\n" + b"x" * 5_000_000 + b"\n")
        codes = [frame_of(process)["error"]["code"] for _ in range(len(hostile) + 1)]
        written(process, PING)
        assert line_of(process) == PONG
        assert ended(process)[:2] == (0, b"")

    assert codes == [-32700] * 3 + [-32600] * 4 + [-32602]


def test_a_big_answer_arrives_byte_for_byte() -> None:
    text = "".join(f"{number:07} \u2028\t\n" for number in range(1_600_000)).encode()
    assert len(text) > 20_000_000
    with served() as (process, url):
        assert streamres("push", url, URI, stdin=text).returncode == 0
        written(process, request("resources/read", uri=URI) + PING)
        lines = [line_of(process), line_of(process)]
        assert ended(process)[0] == 0

    answer = next(line for line in lines if line != PONG)
    assert PONG in lines
    assert sha256(json.loads(answer)["result"]["contents"][0]["text"].encode()) == sha256(text)


@requirement("T1")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_ends_it_in_order(number: signal.Signals) -> None:
    with started("serve", "--stdio") as process:
        written(process, LISTEN)
        frame_of(process)

        process.send_signal(number)

        assert frame_of(process)["result"]["resultType"] == "complete"
        assert process.wait(TIMEOUT_S) == 0


@requirement("T1")
def test_a_client_that_stops_reading_ends_it_quietly() -> None:
    with started("serve", "--stdio") as process:
        written(process, LISTEN)
        frame_of(process)
        assert process.stdout is not None
        assert process.stderr is not None

        process.stdout.close()

        assert process.wait(TIMEOUT_S) == 0
        assert process.stderr.read() == b""


@requirement("T1")
def test_a_host_that_is_killed_leaves_no_server_behind() -> None:
    host = (
        "import subprocess, sys; p = subprocess.Popen(sys.argv[1:], stdin=-1); print(p.pid, flush=True); p.wait()"
    )
    command = [sys.executable, "-c", host, sys.executable, "-m", "streamres", "serve", "--stdio"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as process:
        server = os.pidfd_open(int(line_of(process)))
        process.kill()

    assert select.select([server], [], [], TIMEOUT_S)[0] == [server]
    os.close(server)


def test_a_server_that_is_killed_can_be_started_again_at_its_port(free_port: int) -> None:
    args = ("serve", "--stdio", "--port", str(free_port))
    with started(*args) as process:
        written(process, PING)
        assert line_of(process) == PONG
        process.kill()
        assert process.stdout is not None
        assert process.stdout.readline() == b""

    with started(*args) as process:
        written(process, PING)
        assert line_of(process) == PONG


def _sources(tmp_path: Path) -> dict[str, tuple[int, bytes]]:
    (tmp_path / "lines").write_bytes(PING * 3)
    ours, theirs = socket.socketpair()
    ours.sendall(PING * 2)
    ours.close()
    return {
        "a file": (os.open(tmp_path / "lines", os.O_RDONLY), PONG * 3),
        "a socket": (theirs.detach(), PONG * 2),
        "/dev/null": (os.open(os.devnull, os.O_RDONLY), b""),
    }


@pytest.mark.parametrize("kind", ["a file", "a socket", "/dev/null"])
def test_standard_input_can_be_anything_and_its_end_is_the_end(tmp_path: Path, kind: str) -> None:
    sources = _sources(tmp_path)
    command = [sys.executable, "-m", "streamres", "serve", "--stdio"]
    target = tmp_path / "out"
    with target.open("wb") as out:
        done = subprocess.run(command, stdin=sources[kind][0], stdout=out, timeout=TIMEOUT_S, env=environment())
    for fd, _ in sources.values():
        os.close(fd)

    assert (done.returncode, target.read_bytes()) == (0, sources[kind][1])


@pytest.mark.parametrize("errors_too", [False, True], ids=["with standard error", "without standard error"])
def test_nothing_that_is_printed_reaches_the_client(errors_too: bool) -> None:
    command: Sequence[str] = [sys.executable, str(CHATTY)]
    if errors_too:
        command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command]
    lines = request("resources/list") + PING + request("resources/list", 2)

    done = subprocess.run(
        command,
        input=lines,
        capture_output=True,
        timeout=TIMEOUT_S,
        env={key: value for key, value in environment().items() if key != "PYTHONUNBUFFERED"},
    )

    frames = [json.loads(line) for line in done.stdout.splitlines()]
    assert [frame["id"] for frame in frames] == [1, "ping", 2]
    assert errors_too or (done.returncode == 0 and done.stderr.count(b"by a child") == 4)


def test_a_port_in_use_is_said_and_nothing_is_written_to_the_client() -> None:
    with live("serve", "--port", "0") as other:
        done = streamres("serve", "--stdio", "--port", str(other.port))

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"address already in use" in done.stderr


def test_a_host_without_a_port_is_a_mistake_that_is_said() -> None:
    done = streamres("serve", "--stdio", "--host", "127.0.0.1")

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--port" in done.stderr


def test_the_help_says_where_the_resources_come_from() -> None:
    said = " ".join(streamres("serve", "--help").stdout.decode().split())

    assert "comes in by --port, or by another server of the same store" in said
