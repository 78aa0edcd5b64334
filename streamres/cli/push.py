"""`streamres push`: standard input into a resource of a running server."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio

from streamres.cli import words
from streamres.client.push import Producer
from streamres.errors import ConnectionLost, StreamresError

if TYPE_CHECKING:
    from streamres.model import Kind

_READ_BYTES: Final = 1024 * 1024


def push(url: str, uri: str, *, kind: Kind) -> int:
    """Appends all of standard input, seals, and gives the exit code; interrupted, it seals as aborted."""
    try:
        return anyio.run(_push, url, uri, kind, backend_options={"use_uvloop": True})
    except StreamresError as exc:
        words.fail(str(exc))
        return words.FAILED


async def _push(url: str, uri: str, kind: Kind) -> int:
    interrupted = False
    async with Producer(url, uri, kind=kind, on_fault=_say_fault) as producer:
        async with anyio.create_task_group() as group:

            async def until_interrupted() -> None:
                nonlocal interrupted
                with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                    await anext(signals)
                interrupted = True
                group.cancel_scope.cancel()

            group.start_soon(until_interrupted)
            while data := await _read():
                await producer.append(data)
            group.cancel_scope.cancel()
        await producer.seal("aborted" if interrupted else "complete")
        if producer.replaced_bytes:
            words.say(f"{producer.replaced_bytes} bytes were not UTF-8; they stand as U+FFFD")
    return words.INTERRUPTED if interrupted else 0


async def _read() -> bytes:
    with suppress(OSError):  # a regular file is never waited for
        await anyio.wait_readable(0)
    return os.read(0, _READ_BYTES)


def _say_fault(exc: ConnectionLost, wait_s: float) -> None:
    words.say(f"{exc}; trying again in {wait_s:.1f} s")
