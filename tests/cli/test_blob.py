"""`--kind blob`: a log that has the very bytes, text or not."""

from __future__ import annotations

import subprocess

from requirement import requirement

from cli.program import live, python, streamres

EVERY_BYTE = bytes(range(256)) * 300


@requirement("SR-2.2")
def test_a_command_that_writes_any_bytes_is_tailed_exactly() -> None:
    code = "import os; [os.write(1, bytes(range(256))) for _ in range(300)]"
    command = ["run", "--kind", "blob", "--port", "0", "--linger", "60", "--", *python(code)]
    with live(*command, stdout=subprocess.DEVNULL) as run:
        assert streamres("tail", run.url).stdout == EVERY_BYTE
        assert streamres("tail", run.url, "--no-follow").stdout == EVERY_BYTE
        assert streamres("tail", run.url, "--last", "1").stdout == EVERY_BYTE.rpartition(b"\n")[2]


@requirement("SR-2.2")
def test_any_bytes_are_pushed_exactly_and_into_a_text_they_are_not() -> None:
    with live("serve", "--port", "0") as server:
        assert streamres("push", server.url, "a:b", "--kind", "blob", stdin=EVERY_BYTE).returncode == 0
        assert streamres("push", server.url, "a:text", stdin=b"text").returncode == 0
        mixed = streamres("push", server.url, "a:text", "--kind", "blob", stdin=b"\xff")

        assert streamres("tail", server.url, "a:b").stdout == EVERY_BYTE
    assert mixed.returncode == 1
    assert "its kind is text" in mixed.stderr.decode()
