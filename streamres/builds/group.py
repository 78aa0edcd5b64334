"""The process group of a run: how it is ended, also where this process is killed and can end nothing any more."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

STOP_S: Final = 2.0
"""Seconds that a group has to end after SIGTERM; then it is killed. Hosts give a server four to end."""

_LOOK_S: Final = 0.02

# Reads which group it is, then waits. Its input ends without a word where the process that it is for has died.
_GUARD: Final = f"""
read -r group || exit 0
read -r over || {{ kill -TERM "-$group"; sleep {STOP_S:g}; kill -KILL "-$group"; }}
"""


@asynccontextmanager
async def guarded() -> AsyncIterator[Callable[[int], None]]:
    """Gives what to tell the number of a group: that is ended then, however this process or the context ends.

    A shell in a session of its own holds the other end of a pipe. It ends the group when the pipe closes and
    nothing was said before; where the context ends without an exception, it is told that there is nothing to do.

    Raises:
        OSError: it cannot be started.
    """
    theirs, ours = os.pipe()
    told = False

    def watch(group: int) -> None:
        nonlocal told
        told = True
        say(f"{group}\n")

    def say(text: str) -> None:
        with suppress(BrokenPipeError):  # somebody has killed it
            os.write(ours, text.encode())

    try:
        try:
            guard = await asyncio.create_subprocess_exec(
                "sh",
                "-c",
                _GUARD,
                stdin=theirs,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            os.close(theirs)
        yield watch
        if told:
            say("over\n")
    finally:
        os.close(ours)
    await guard.wait()


async def end_group(group: int) -> None:
    """Ends what is in a process group: SIGTERM, and SIGKILL for what is there `STOP_S` seconds later."""
    loop = asyncio.get_running_loop()
    until = loop.time() + STOP_S
    is_there = _signal(group, signal.SIGTERM)
    while is_there and loop.time() < until:
        await asyncio.sleep(_LOOK_S)
        is_there = _signal(group, 0)
    if is_there:
        _signal(group, signal.SIGKILL)


def _signal(group: int, number: int) -> bool:
    """Says whether there was anything in the group that could be sent it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
