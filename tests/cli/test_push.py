"""`streamres push`: every byte once, whoever dies meanwhile; and what it does where there is no room."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from requirement import requirement

from cli.cutting_proxy import cutting
from cli.program import TIMEOUT_S, environment, line_of, live, sha256, started, streamres, written

ROUNDS = int(os.environ.get("STREAMRES_KILL_ROUNDS", "8"))
"""Deaths in the test of deaths; more of them find more."""

URI = "build://7/log"
MIXED = "compiling \N{EURO SIGN} \N{GRINNING FACE}\n".encode()


class Pusher:
    """A `push` that reads from a pipe which outlives it, and is begun again with its spool when it was killed."""

    def __init__(self, url: str, spool: Path, source: int, *options: str) -> None:
        self._command = [sys.executable, "-m", "streamres", "push", url, URI, "--spool", str(spool), *options]
        self._source = source
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command, stdin=self._source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()
        )

    def wait_for(self, seconds: float) -> None:
        """Lets it work for a while, or to its end."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=TIMEOUT_S)

    def kill_and_begin_again(self) -> None:
        self.kill()
        self.process = self._start()

    def end(self) -> tuple[int, str]:
        _, err = self.process.communicate(timeout=2 * TIMEOUT_S)
        return self.process.returncode, err.decode()


class Feeder:
    """Writes into a pipe, now more, now less, until it is told that it is enough; knows all that it wrote."""

    def __init__(self, chance: random.Random, kind: str) -> None:
        self.source, self._sink = os.pipe()
        self.written = bytearray()
        self._chance, self._kind = chance, kind
        self._enough = Event()
        self._thread = Thread(target=self._feed, daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        while not self._enough.wait(self._chance.uniform(0, 0.01)):
            size = self._chance.randint(1, 3_000)
            piece = self._chance.randbytes(size) if self._kind == "blob" else MIXED * (size // len(MIXED) + 1)
            os.write(self._sink, piece)
            self.written += piece
        os.close(self._sink)

    def end(self) -> bytes:
        self._enough.set()
        self._thread.join(TIMEOUT_S)
        return bytes(self.written)


class Served:
    """A `serve` that is begun again on the same port over the same file when it was killed."""

    def __init__(self, port: int, store: Path, stack: ExitStack) -> None:
        self._args = ("serve", "--port", str(port), "--store", f"sqlite:{store}")
        self._stack = stack
        self.live = stack.enter_context(live(*self._args))

    def kill_and_begin_again(self) -> None:
        self.live.process.kill()
        self.live.process.wait(TIMEOUT_S)
        self.live = self._stack.enter_context(live(*self._args))


@requirement("SR-9.1")
@requirement("S1")
@pytest.mark.parametrize("kind", ["text", "blob"])
def test_whoever_is_killed_at_whatever_moment_every_byte_is_there_once(
    kind: str, tmp_path: Path, free_port: int
) -> None:
    chance = random.Random(os.environ.get("STREAMRES_SEED", kind))
    deaths = [chance.choice(["server", "pusher", "both"]) for _ in range(ROUNDS // 2)]
    cuts = (chance.randint(0, 900) for _ in range(4 * ROUNDS))

    with ExitStack() as stack:
        server = Served(free_port, tmp_path / "store.db", stack)
        proxy = stack.enter_context(cutting(free_port, cuts))
        feeder = Feeder(chance, kind)
        stack.callback(feeder.end)
        pusher = Pusher(proxy.url, tmp_path / "spool", feeder.source, "--kind", kind)
        stack.callback(pusher.kill)
        for death in deaths:
            pusher.wait_for(chance.uniform(0, 1.5))
            if death != "pusher":
                server.kill_and_begin_again()
            if death != "server":
                pusher.kill_and_begin_again()
        given = feeder.end()
        code, err = pusher.end()
        there = streamres("tail", server.live.url, URI).stdout
        listed = streamres("ls", server.live.url).stdout.decode()

    assert code == 0, err
    assert sha256(there) == sha256(given)
    assert "\tcomplete\t" in listed
    assert os.listdir(tmp_path / "spool") == ["lock"]


def started_push(*args: str, source: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "streamres", "push", *args]
    return subprocess.Popen(command, stdin=source, stderr=subprocess.PIPE, env=environment())


def said(process: subprocess.Popen[bytes], words: str) -> str:
    """Waits until a line of its standard error has the words, and gives it."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line.decode():
            return line.decode()
    raise AssertionError(f"it has ended without saying {words!r}")


@requirement("SR-9.1")
def test_a_file_is_gone_on_with_where_a_killed_push_was_in_it(tmp_path: Path, free_port: int) -> None:
    content = MIXED * 20_000
    (tmp_path / "file").write_bytes(content)
    args = (f"http://127.0.0.1:{free_port}", URI, "--spool", str(tmp_path / "spool"))

    with (tmp_path / "file").open("rb") as file, started_push(*args, source=file.fileno()) as push:
        said(push, "nothing answers")
        push.kill()
    with live("serve", "--port", str(free_port), "--store", "memory:") as server:
        with (tmp_path / "file").open("rb") as file, started_push(*args, source=file.fileno()) as push:
            push.communicate(timeout=TIMEOUT_S)
        assert push.returncode == 0
        assert streamres("tail", server.url, URI).stdout == content


@requirement("SR-9.1")
def test_a_server_that_lost_everything_gets_all_of_it_again_from_the_spool(tmp_path: Path, free_port: int) -> None:
    serve = ("serve", "--port", str(free_port), "--store", "memory:")
    with started("push", f"http://127.0.0.1:{free_port}", URI, "--spool", str(tmp_path / "spool")) as push:
        with live(*serve) as server:
            written(push, b"one\n")
            with started("tail", server.url) as tail:
                assert line_of(tail) == b"one\n"
        with live(*serve) as server:
            _, err = push.communicate(b"two\n", timeout=TIMEOUT_S)

            assert push.returncode == 0, err
            assert streamres("tail", server.url, URI).stdout == b"one\ntwo\n"


@requirement("SR-9.1")
def test_a_second_push_with_the_same_id_takes_over_and_the_first_ends_in_words() -> None:
    with live("serve", "--port", "0", "--store", "memory:") as server:
        args = ("push", server.url, URI, "--producer", "ci")
        with started(*args) as first, started(*args) as second, started("tail", server.url) as tail:
            written(first, b"one\n")
            assert line_of(tail) == b"one\n"
            written(second, b"two\n")
            assert line_of(tail) == b"two\n"
            _, err = first.communicate(b"three\n", timeout=TIMEOUT_S)
            second.communicate(timeout=TIMEOUT_S)

        assert first.returncode == 1
        assert "was replaced by epoch" in err.decode()
        assert second.returncode == 0
        assert streamres("tail", server.url, URI).stdout == b"one\ntwo\n"


def test_an_interrupted_push_with_a_spool_leaves_the_resource_open_for_the_next(tmp_path: Path) -> None:
    with live("serve", "--port", "0", "--store", "memory:") as server:
        args = ("push", server.url, URI, "--spool", str(tmp_path / "spool"))
        with started(*args) as push, started("tail", server.url) as tail:
            written(push, b"one\n")
            assert line_of(tail) == b"one\n"
            push.send_signal(signal.SIGTERM)
            said(push, "push with it again")
            assert push.wait(TIMEOUT_S) == 130

            assert streamres(*args, stdin=b"two\n").returncode == 0
            assert line_of(tail) == b"two\n"
            assert tail.wait(TIMEOUT_S) == 0


def test_a_spool_that_is_in_use_or_of_another_resource_is_refused_in_words(tmp_path: Path) -> None:
    spool = ("--spool", str(tmp_path / "spool"))
    with started("push", "http://127.0.0.1:1", "a:b", *spool) as push:
        said(push, "nothing answers")
        busy = streamres("push", "http://127.0.0.1:1", "a:b", *spool)
    other = streamres("push", "http://127.0.0.1:1", "a:c", *spool)

    assert (busy.returncode, other.returncode) == (1, 1)
    assert "is in use by another push" in busy.stderr.decode()
    assert "is the spool of uri 'a:b', not of 'a:c'" in other.stderr.decode()


@pytest.mark.parametrize("spool", [False, True])
def test_a_full_push_that_is_to_fail_says_which_limit_it_is(spool: bool, tmp_path: Path) -> None:
    limit = ("--spool", str(tmp_path / "s"), "--spool-bytes") if spool else ("--buffer-bytes",)
    done = streamres("push", "http://127.0.0.1:1", "a:b", *limit, "1000", "--on-full", "fail", stdin=b"x" * 9_999)

    assert done.returncode == 1
    name = "spool_bytes" if spool else "buffer_bytes"
    assert f"over the limit {name} = 1000; the server is behind" in done.stderr.decode()


def test_a_full_push_that_is_to_block_takes_no_more_from_its_input_and_loses_nothing(free_port: int) -> None:
    content = MIXED * 20_000
    url = f"http://127.0.0.1:{free_port}"
    with started("push", url, "a:b", "--buffer-bytes", "10000") as push:
        assert push.stdin is not None
        feeding = Thread(target=push.stdin.write, args=(content,), daemon=True)
        feeding.start()
        said(push, "standard input waits too")
        assert feeding.is_alive()

        with live("serve", "--port", str(free_port), "--store", "memory:") as server:
            feeding.join(TIMEOUT_S)
            _, err = push.communicate(timeout=TIMEOUT_S)
            assert push.returncode == 0, err
            assert streamres("tail", server.url, "a:b").stdout == content


@pytest.mark.parametrize("spool", [False, True])
def test_a_full_push_that_is_to_drop_leaves_out_whole_lines_and_says_so_in_the_log(
    spool: bool, tmp_path: Path, free_port: int
) -> None:
    content = MIXED * 20_000
    limit = ("--spool", str(tmp_path / "s"), "--spool-bytes") if spool else ("--buffer-bytes",)
    url = f"http://127.0.0.1:{free_port}"
    with started("push", url, "a:b", *limit, "100000", "--on-full", "drop-oldest") as push:
        written(push, content)
        said(push, "bytes were dropped so far")
        with live("serve", "--port", str(free_port), "--store", "memory:") as server:
            _, err = push.communicate(timeout=TIMEOUT_S)
            assert push.returncode == 0, err
            there = streamres("tail", server.url, "a:b").stdout

    notice = re.compile(rb"\[streamres: (\d+) bytes were dropped here\]\n")
    dropped = sum(int(count) for count in notice.findall(there))
    kept = notice.sub(b"", there)
    assert dropped > 0
    assert len(kept) + dropped == len(content)
    assert set(kept.splitlines(keepends=True)) == {MIXED}
    assert f"{dropped} bytes were dropped" in err.decode()


def test_a_patch_cannot_be_dropped() -> None:
    done = streamres("push", "http://127.0.0.1:1", "a:b", "--kind", "json", "--on-full", "drop-oldest")

    assert done.returncode == 2
    assert "a patch cannot be left out" in done.stderr.decode()
