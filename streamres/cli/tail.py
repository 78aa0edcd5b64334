"""`streamres tail`: exactly the bytes of a log on standard output, live, across any cut, until its seal."""

from __future__ import annotations

import os
import select
import sys
from typing import TYPE_CHECKING, Final

import anyio

from streamres.cli import words
from streamres.client import Client
from streamres.client.follow import PAGE_BYTES
from streamres.errors import ConnectionLost, StreamresError
from streamres.model.json_value import encode_json

if TYPE_CHECKING:
    from streamres.model import Update

_BYTES_A_LINE: Final = 200
"""A first guess for `--last`; where lines are longer, four times as much is asked for."""

_LOOK_S: Final = 0.5
"""Seconds between looks whether anyone reads our output."""


def tail(url: str, uri: str | None, *, since: str | None, last: int | None, follow: bool) -> int:
    """Writes the log and gives the exit code: 0 at its end."""
    printer = _Printer()
    try:
        anyio.run(_tail, printer, url, uri, since, last, follow, backend_options={"use_uvloop": True})
    except KeyboardInterrupt:
        if printer.cursor is not None:
            words.say(f"stopped; --since {printer.cursor} goes on from here")
        return words.INTERRUPTED
    except BrokenPipeError:
        # Nobody reads on. What is left in Python's buffer must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return words.BROKEN_PIPE
    except StreamresError as exc:
        words.fail(str(exc))
        return words.FAILED
    return 0


async def _tail(
    printer: _Printer, url: str, uri: str | None, since: str | None, last: int | None, follow: bool
) -> None:
    failure: Exception | None = None
    async with anyio.create_task_group() as group:

        async def until_nobody_reads() -> None:
            nonlocal failure
            while not _output_is_closed():  # noqa: ASYNC110
                await anyio.sleep(_LOOK_S)
            failure = BrokenPipeError()
            group.cancel_scope.cancel()

        group.start_soon(until_nobody_reads)
        try:
            await _write(printer, url, uri, since, last, follow)
        except (StreamresError, BrokenPipeError) as exc:
            failure = exc
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _write(
    printer: _Printer, url: str, uri: str | None, since: str | None, last: int | None, follow: bool
) -> None:
    async with Client(url) as client:
        if uri is None:
            uri = await _newest(client, wait=follow)
        if last is not None and since is None:
            since = await _write_last(client, printer, uri, last)
        if follow:
            async for update in client.follow(uri, since, on_fault=_say_fault):
                printer.write(update)
            return
        more = True
        while more:
            update = await client.read(uri, since, max_bytes=PAGE_BYTES)
            printer.write(update)
            since, more = update.cursor, update.more


def _output_is_closed() -> bool:
    """Whether the reader of a pipe is gone: a log that is quiet would tell us only at its next byte."""
    look = select.poll()
    look.register(sys.stdout.fileno(), 0)
    return any(events & select.POLLERR for _, events in look.poll(0))


class _Printer:
    """Writes updates to standard output."""

    def __init__(self) -> None:
        self.cursor: str | None = None
        self._document_known = False

    def write(self, update: Update, data: bytes | None = None) -> None:
        if update.reset is not None and update.kind != "json":
            words.say(f"the log is another one now ({update.reset}); it follows from its beginning")
        out = sys.stdout.buffer
        out.write(self._shown(update) if data is None else data)
        out.flush()
        self.cursor = update.cursor
        if update.state == "aborted" and not update.more:
            words.say("the log ends here: its producer was cut off (aborted)")

    def _shown(self, update: Update) -> bytes:
        """What an update is on standard output: the content as it is, or a document on a line of its own."""
        if update.kind != "json":
            return update.data
        if update.patch == []:
            return b""
        self._document_known |= update.patch is None
        if not self._document_known:
            raise StreamresError(
                "the document at that cursor is not known here; tail a json resource without --since"
            )
        return encode_json(update.value) + b"\n"


async def _newest(client: Client, *, wait: bool) -> str:
    """The newest resource's URI; with `wait`, that of the first one to come where there is none."""
    fault_said = False
    while True:
        try:
            if resources := await client.list():
                return resources[-1].uri
            if not wait:
                raise StreamresError(f"{client.url} has no resource")
            async with client.listen(list_changed=True) as events:
                # Looked for again once nothing is missed.
                if not await client.list():
                    words.say("no resource yet; waiting for the first")
                    await anext(events, None)
        except ConnectionLost as exc:
            if not wait:
                raise
            if not fault_said:
                words.say(f"{exc}; trying again until it is there")
            fault_said = True
            await anyio.sleep(1)


async def _write_last(client: Client, printer: _Printer, uri: str, last: int) -> str | None:
    """Writes the last lines and gives the cursor behind them; a document has none, and is the caller's."""
    wanted = last * _BYTES_A_LINE
    while True:
        update = await client.read(uri, tail_bytes=wanted)
        if update.kind == "json":
            return None
        lines = update.data.split(b"\n")
        ended = lines[-1] == b""
        count = len(lines) - ended
        # One more than wanted: where no line starts in reach, the first one is cut.
        if count > last or update.start == 0 or last == 0:
            kept = lines[max(0, count - last) :] if last else []
            printer.write(update, b"\n".join(kept))
            return update.cursor
        wanted *= 4


def _say_fault(exc: ConnectionLost, wait_s: float) -> None:
    words.say(f"{exc}; trying again in {wait_s:.1f} s")
