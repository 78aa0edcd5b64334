"""`streamres push`: standard input into a resource of a running server."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio

from streamres.cli import words
from streamres.client.push import Producer
from streamres.errors import ConnectionLost, LimitExceeded, StreamresError
from streamres.limits import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from streamres.model import Kind

_READ_BYTES: Final = 1024 * 1024
_LINE_BYTES: Final = Limits().append_bytes


def push(url: str, uri: str, *, kind: Kind) -> int:
    """Appends all of standard input, seals, and gives the exit code; interrupted, it seals as aborted.

    To json, each line is a patch.
    """
    try:
        return anyio.run(_push, url, uri, kind, backend_options={"use_uvloop": True})
    except StreamresError as exc:
        words.fail(str(exc))
        return words.FAILED


async def _push(url: str, uri: str, kind: Kind) -> int:
    interrupted = False
    failure: StreamresError | None = None
    async with Producer(url, uri, kind=kind, on_fault=_say_fault) as producer:
        async with anyio.create_task_group() as group:

            async def until_interrupted() -> None:
                nonlocal interrupted
                with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                    await anext(signals)
                interrupted = True
                group.cancel_scope.cancel()

            group.start_soon(until_interrupted)
            try:
                async for data in _lines() if kind == "json" else _pieces():
                    await producer.append(data)
            except StreamresError as exc:
                failure = exc  # raised outside, where it is not one of a group
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        await producer.seal("aborted" if interrupted else "complete")
        if producer.replaced_bytes:
            words.say(f"{producer.replaced_bytes} bytes were not UTF-8; they stand as U+FFFD")
    return words.INTERRUPTED if interrupted else 0


async def _pieces() -> AsyncIterator[bytes]:
    while data := await _read():
        yield data


async def _lines() -> AsyncIterator[bytes]:
    """The patches on standard input, one a line; a line that holds one operation is a patch too."""
    rest = b""
    async for data in _pieces():
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if patch := _patch(line):
                yield patch
        if len(rest) > _LINE_BYTES:
            raise LimitExceeded("append_bytes", _LINE_BYTES, "write shorter patches, one a line")
    if patch := _patch(rest):
        yield patch


def _patch(line: bytes) -> bytes:
    line = line.strip()
    return b"[" + line + b"]" if line.startswith(b"{") else line


async def _read() -> bytes:
    with suppress(OSError):  # a regular file is never waited for
        await anyio.wait_readable(0)
    return os.read(0, _READ_BYTES)


def _say_fault(exc: ConnectionLost, wait_s: float) -> None:
    words.say(f"{exc}; trying again in {wait_s:.1f} s")
