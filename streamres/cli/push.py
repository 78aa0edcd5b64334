"""`streamres push`: standard input into a resource of a running server."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final

import anyio

from streamres.cli import words
from streamres.client.push import Producer
from streamres.client.uploads import Uploads
from streamres.errors import ConnectionLost, DeltaError, LimitExceeded, RpcError, StreamresError
from streamres.limits import BUFFER_BYTES, SPOOL_BYTES

if TYPE_CHECKING:
    from pathlib import Path

    from streamres.client.room import OnFull
    from streamres.model import Kind


_FULL_S: Final = 1.0
"""Seconds without room after which that is said; a moment of it is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to push; as the arguments of `Producer`."""

    kind: Kind = "text"
    producer: str | None = None
    spool: Path | None = None
    spool_bytes: int = SPOOL_BYTES
    buffer_bytes: int = BUFFER_BYTES
    on_full: OnFull = "block"


def push(url: str, uri: str, options: Options) -> int:
    """Appends all of standard input, seals, and gives the exit code.

    Interrupted or refused midway, it seals as aborted; with a spool it leaves the resource open, for the next push
    with that. To json, each line is a patch.
    """
    try:
        return anyio.run(_push, url, uri, options, backend_options={"use_uvloop": True})
    except StreamresError as exc:
        words.fail(str(exc))
        if options.spool is not None:
            words.say(f"what was not delivered is in {options.spool}")
        return words.FAILED


async def _push(url: str, uri: str, options: Options) -> int:
    producer = Producer(
        url,
        uri,
        kind=options.kind,
        producer=options.producer,
        spool=options.spool,
        spool_bytes=options.spool_bytes,
        buffer_bytes=options.buffer_bytes,
        on_full=options.on_full,
        on_fault=_say_fault,
    )
    try:
        return await _deliver(producer, options)
    except StreamresError as exc:
        # Only now that the producer has ended: it would have gone on with what follows.
        if options.spool is None and producer.sent_bytes and _cuts(exc):
            await _abort(url, uri, options.kind)
        raise


async def _deliver(producer: Producer, options: Options) -> int:
    interrupted = False
    failure: StreamresError | None = None
    async with producer:
        async with anyio.create_task_group() as group:

            async def until_interrupted() -> None:
                nonlocal interrupted
                with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                    await anext(signals)
                interrupted = True
                group.cancel_scope.cancel()

            group.start_soon(until_interrupted)
            try:
                await _take_all(producer)
                if options.spool is not None:
                    await producer.seal("complete")
            except StreamresError as exc:
                failure = exc  # raised outside, where it is not one of a group
            group.cancel_scope.cancel()
        if failure is None and options.spool is None:
            await producer.seal("aborted" if interrupted else "complete")
        _say_what_is_not_as_given(producer)
        if failure is not None:
            raise failure
        if interrupted and options.spool is not None:
            words.say(f"{producer.waiting_bytes} bytes are left in {options.spool}; push with it again to go on")
    return words.INTERRUPTED if interrupted else 0


def _cuts(exc: StreamresError) -> bool:
    """Whether content was refused, and not this producer: another that took over from it goes on."""
    if isinstance(exc, RpcError):
        return isinstance(exc.data, dict) and exc.data.get("reason") in ("invalid_content", "limit")
    return isinstance(exc, DeltaError | LimitExceeded)


async def _abort(url: str, uri: str, kind: Kind) -> None:
    """Says of what is there that its rest does not come; its readers would wait for it for ever."""
    uploads = Uploads(url)
    try:
        with suppress(StreamresError):
            await uploads.append({"uri": uri, "kind": kind, "seal": "aborted"}, b"")
    finally:
        await uploads.close()


async def _take_all(producer: Producer) -> None:
    """Takes standard input to its end; a spool that came to that end before has all of it."""
    if producer.state != "open":
        words.say("the spool came to the end of its input before; delivering what is left, and reading nothing")
        return
    await producer.go_on_in(0)
    said_full = False
    dropped = 0
    taken = -1
    while taken:
        blocked_s = producer.blocked_s
        with anyio.move_on_after(inf if said_full else _FULL_S) as waiting:
            taken = await producer.put_from(0)
        if producer.dropped_bytes > 2 * dropped:
            dropped = producer.dropped_bytes
            words.fail(f"{dropped} bytes were dropped so far: the server is behind")
        if waiting.cancelled_caught and producer.blocked_s > blocked_s and not said_full:
            said_full = True
            words.say(f"{producer.waiting_bytes} bytes wait for the server; standard input waits too")


def _say_what_is_not_as_given(producer: Producer) -> None:
    if producer.replaced_bytes:
        words.say(f"{producer.replaced_bytes} bytes were not UTF-8; they stand as U+FFFD")
    if producer.dropped_bytes:
        words.fail(f"{producer.dropped_bytes} bytes were dropped")
    if producer.blocked_s >= 1:
        words.say(f"standard input waited {producer.blocked_s:.0f} s for the server")


def _say_fault(exc: ConnectionLost, wait_s: float) -> None:
    words.say(f"{exc}; trying again in {wait_s:.1f} s")
