"""`streamres run`: a command as it always runs, its output served while it is written."""

from __future__ import annotations

import re
import signal
from contextlib import nullcontext, suppress
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING

import anyio
import anyio.from_thread
import anyio.lowlevel

from streamres.app import Server
from streamres.cli import words
from streamres.cli.keeping import kept
from streamres.errors import StreamresError
from streamres.limits import Limits
from streamres.sources import signals
from streamres.sources.command import CommandNotStarted, resize, start
from streamres.sources.lease import lease
from streamres.sources.recording import Recording
from streamres.store.sqlite import SqliteStore
from streamres.transport import allow_connections, bind

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from streamres.model import Kind
    from streamres.sources.command import Command, Ended
    from streamres.sources.resource import Resource
    from streamres.store import Store


def run(
    argv: Sequence[str],
    *,
    uri: str | None,
    kind: Kind,
    host: str,
    port: int,
    linger_s: float,
    pty: bool | None,
    store: str,
) -> int:
    """Runs the command and gives its exit code, or 125 to 127 for what kept it from running."""
    try:
        sock = bind(host, port)
    except OSError as exc:
        words.cannot_serve(host, port, exc)
        return words.OWN_FAILURE
    words.quiet_uvicorn()
    mask = signals.block()

    async def main() -> int:
        limits = Limits()
        # Opened before the command is started: one whose log cannot be kept is not run.
        async with kept(store, limits) as opened:
            runner = _Runner(argv, uri or _uri_for(argv[0]), kind, linger_s)
            with _held(opened, runner.uri):
                return await runner.run(Server("streamres run", store=opened, limits=limits), sock, pty, mask)

    try:
        return anyio.run(main, backend_options={"use_uvloop": True})
    except CommandNotStarted as exc:
        words.fail(str(exc))
        return exc.code
    except StreamresError as exc:
        words.fail(str(exc))
        return words.OWN_FAILURE


class _Runner:
    def __init__(self, argv: Sequence[str], uri: str, kind: Kind, linger_s: float) -> None:
        self._argv = argv
        self.uri = uri
        self._kind = kind
        self._linger_s = linger_s
        self._interrupted = False
        self._afterwards = anyio.CancelScope()

    async def run(self, server: Server, sock: socket.socket, pty: bool | None, mask: set[int]) -> int:
        log = await server.create(self.uri, kind=self._kind, title=" ".join(self._argv)[:200])
        command = start(self._argv, pty=pty, signal_mask=mask)
        token = anyio.lowlevel.current_token()

        def on_signal(number: signal.Signals, typed: bool) -> None:
            with suppress(RuntimeError):  # the loop has ended: nothing is left to interrupt
                anyio.from_thread.run_sync(self._handle, command, number, typed, token=token)

        signals.listen(on_signal)
        allow_connections(server.limits.connections)
        async with server.serve(sock=sock) as url:
            words.say(f"{self.uri} is live at {url}")
            ended = await self._record(command, log)
            with self._afterwards:
                if self._linger_s and not self._interrupted:
                    words.say(f"ended with exit code {ended.code}; served for {self._linger_s:g} s more")
                    await anyio.sleep(self._linger_s)
                await server.drain()
        return ended.code

    async def _record(self, command: Command, log: Resource) -> Ended:
        recording = Recording(log.append, kind=log.kind)
        ended = await recording.run(command)
        # A command that a signal ended, or that was told to end, has not said all that it had to say.
        cut = ended.killed_by is not None or self._interrupted
        await log.seal("aborted" if cut else "complete")
        if recording.replaced_bytes:
            words.say(f"{recording.replaced_bytes} bytes were not UTF-8; they stand as U+FFFD in the log")
        if recording.mirror_failure is not None:
            words.fail(f"the output could not be shown in full ({recording.mirror_failure}); the log has it")
        return ended

    def _handle(self, command: Command, number: signal.Signals, typed: bool) -> None:
        if number == signal.SIGWINCH:
            resize(command)
        elif command.running:
            self._interrupted = True
            if not typed:  # else the command has it already
                command.send(number)
        else:
            self._afterwards.cancel()


def _held(store: Store, uri: str) -> AbstractContextManager[None]:
    """Has the log sealed by others should this process be killed."""
    return lease(store.path, uri) if isinstance(store, SqliteStore) else nullcontext()


def _uri_for(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", PurePath(name).name) or "command"
    return f"run://local/{plain}/{datetime.now():%Y%m%d-%H%M%S}"
