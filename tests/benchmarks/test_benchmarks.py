"""That the command runs and prints each row; how fast anything is, no test says."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.contestants import durable_streams
from benchmarks.process import child_environment


def test_the_command_prints_every_row() -> None:
    durable_streams.directory()  # to install what it needs may take longer than the command
    command = [sys.executable, "-m", "benchmarks", "--tiny"]

    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True, timeout=110)

    assert done.returncode == 0, done.stderr
    rows = [line.split("│")[1].strip() for line in done.stdout.splitlines() if line.startswith("│")]
    assert rows == [
        "read of 1 KB",
        "read of 1 MB",
        "delta of 1 KB out of 1 MB",
        "frame to 5 subscribers, cursor",
        "frame to 5 subscribers, delta",
        "frame to 10 subscribers, cursor",
        "frame to 10 subscribers, delta",
        "append (official: publish)",
        "memory of 1 of 20 subscribers",
        "memory with 50 subscribers",
        "memory for 4 MB of log",
        "4 MB late, Client.follow",
        "4 MB late, one answer",
        "4 MB in a file: memory",
        "4 MB in a file: first byte of its end",
        "4 MB in a file: written",
        "4 MB in a file: read late",
        "json, 300 patches: memory",
        "json, 300 patches: follower",
        "json, 300 patches: late reader",
        "json, 200 appends: wire",
        "one log, in process, plain",
        "one log, in process, numbered",
        "a log each, in process, plain",
        "a log each, in process, numbered",
        "one log, by network, numbered",
        "a log each, by network, numbered",
    ]
