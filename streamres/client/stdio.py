"""JSON-RPC over the standard streams of a process, the client's side: the server is started here, and ended.

One channel carries all answers, so each message is brought to the request that it names: by its id, by the token
that the request gave (which is the id too), or by the id of the subscription. A process that ends takes what was
asked with it; the next request starts another.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import anyio
import orjson

from streamres.client.eras import settle
from streamres.client.messages import MESSAGE_BYTES, about, is_answer, parse, result_of
from streamres.client.request import MODERN, PLAIN, Asking, Spoken, encode, notification
from streamres.errors import ConnectionLost, ProtocolError
from streamres.protocol import words
from streamres.protocol.error_codes import METHOD_NOT_FOUND
from streamres.protocol.jsonrpc import error, result
from streamres.protocol.lines import LineSplitter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from anyio.abc import Process
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from streamres.client.connection import Timeouts

    Message = dict[str, Any]

logger = logging.getLogger("streamres.client")

_PROBE_S: Final = 5.0
"""Seconds after which a server that does not answer `server/discover` is held for one of the older era."""

_PARTING_S: Final = 2.0
"""Seconds that a server has to end after its input did, and again after it was told to."""

_QUEUED: Final = 1024
"""Messages that wait for one request; with more, the server's output is not read on."""


class StdioConnection:
    """One server, a command that is run: `argv` with the environment of this process."""

    has_headers = False

    def __init__(self, argv: Sequence[str], timeouts: Timeouts) -> None:
        self._argv = list(argv)
        self._timeouts = timeouts
        self.url = f"stdio:{self._argv[0]}"  # what follows can be secret
        self._ids = count(1)
        self._waiting: dict[object, MemoryObjectSendStream[Message]] = {}
        self._unasked: MemoryObjectSendStream[Message] | None = None
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._spoken: Spoken | None = None
        self._starting, self._settling, self._writing = anyio.Lock(), anyio.Lock(), anyio.Lock()

    async def open(self) -> None:
        """Starts the server.

        Raises:
            ConnectionLost: it cannot be started.
        """
        await self._running()

    async def close(self) -> None:
        """Ends the server: by the end of its input, then by signals."""
        with anyio.CancelScope(shield=True):
            if self._process is not None:
                await _end(self._process)
            if self._reading is not None:
                self._reading.cancel()
                await asyncio.wait([self._reading])

    async def settle(self) -> Spoken:
        """Gives what the server speaks; found out once for each process.

        Raises:
            ConnectionLost: no answer came.
            ProtocolError, RpcError: it speaks nothing that is spoken here.
        """
        async with self._settling:
            await self._running()
            spoken = self._spoken or await settle(self, probe_s=_PROBE_S)
            self._spoken = spoken
        return spoken

    def unasked(self) -> AsyncIterator[Message]:
        """Gives what the server says that belongs to no request, until it ends; one reader at a time."""
        send, receive = anyio.create_memory_object_stream[dict[str, Any]](_QUEUED)
        self._unasked = send
        return _drained(receive)

    async def request(self, method: str, params: Mapping[str, Any], *, wait_s: float = 0.0) -> Message:
        """Gives the result of one request; `wait_s` is how long the server was asked to wait.

        Raises:
            ConnectionLost: no answer came; the request may or may not have been served.
            ResourceNotFound, CursorInvalid, RpcError: the server refused.
            ProtocolError: the answer is none.
        """
        asking = Asking(quiet_s=self._timeouts.answer_s + wait_s)
        return result_of(await self.exchange(method, params, asking), params)

    async def exchange(
        self, method: str, params: Mapping[str, Any], asking: Asking = PLAIN, *, spoken: Spoken | None = None
    ) -> Message:
        """Gives the message that answers one request, result or error; `spoken` is for finding out what is.

        Raises:
            ConnectionLost: no answer came; the request may or may not have been served.
        """
        quiet_s = self._timeouts.answer_s if asking.quiet_s is None else asking.quiet_s
        async with self._asked(method, params, asking, spoken) as messages:
            while True:
                with anyio.move_on_after(quiet_s):
                    message = await anext(messages, None)
                    if message is None:
                        raise ConnectionLost(f"{self.url} ended before it answered")
                    if is_answer(message):
                        return message
                    if asking.hear is not None:
                        await asking.hear(message)
                    continue
                raise ConnectionLost(f"{self.url} gives no answer in time")

    @asynccontextmanager
    async def stream(self, method: str, params: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[Message]]:
        """Gives the messages that answer one request, its result last.

        Raises: as `request`; within the iteration, ConnectionLost when the server ends without a result.
        """
        async with self._asked(method, params, PLAIN, None) as messages:
            yield _to_the_end(messages, params, self.url)

    async def notify(self, method: str, params: Mapping[str, Any], *, spoken: Spoken) -> None:  # noqa: ARG002
        """Sends a notification.

        Raises:
            ConnectionLost: the server is gone.
        """
        await self._write(notification(method, params))

    @asynccontextmanager
    async def _asked(
        self, method: str, params: Mapping[str, Any], asking: Asking, spoken: Spoken | None
    ) -> AsyncIterator[AsyncIterator[Message]]:
        await self._running()
        request_id = next(self._ids)
        send, receive = anyio.create_memory_object_stream[dict[str, Any]](_QUEUED)
        self._waiting[request_id] = send
        answered = False

        async def messages() -> AsyncIterator[Message]:
            nonlocal answered
            async for message in receive:
                answered = is_answer(message)
                yield message

        try:
            with receive:
                await self._write(encode(request_id, method, params, asking, spoken or self._spoken or MODERN))
                yield messages()
        finally:
            if self._waiting.pop(request_id, None) is not None and not answered:
                # Nothing closes a stream here that would tell the server: it is told in words.
                with anyio.move_on_after(_PARTING_S, shield=True), suppress(ConnectionLost):
                    await self._write(notification(words.CANCELLED, {"requestId": request_id}))
            send.close()

    async def _running(self) -> Process:
        async with self._starting:
            if self._process is None or self._process.returncode is not None or self._over():
                if self._process is not None:
                    await self.close()
                self._spoken = None
                try:
                    # A session of its own: what is typed at a terminal is for this process alone.
                    self._process = await anyio.open_process(self._argv, stderr=None, start_new_session=True)
                except OSError as exc:
                    raise ConnectionLost(f"{self._argv[0]} cannot be started: {exc.strerror}") from exc
                self._reading = asyncio.create_task(self._read(self._process))
            return self._process

    def _over(self) -> bool:
        return self._reading is not None and self._reading.done()

    async def _write(self, message: bytes) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        async with self._writing:
            # Half a line would spoil all that follow: it is written whole, or the server is ended.
            with anyio.move_on_after(self._timeouts.answer_s, shield=True):
                try:
                    await process.stdin.send(message + b"\n")
                except (anyio.BrokenResourceError, anyio.ClosedResourceError) as exc:
                    raise ConnectionLost(f"{self.url} has ended") from exc
                return
        process.kill()
        raise ConnectionLost(f"{self.url} does not read what it is asked")

    async def _read(self, process: Process) -> None:
        """Brings each message to its request, until the server's output ends."""
        assert process.stdout is not None
        lines = LineSplitter(MESSAGE_BYTES)
        try:
            async for data in process.stdout:
                for line in lines.feed(data):
                    if line is None:
                        logger.error("%s wrote a line of more than %d bytes", self.url, MESSAGE_BYTES)
                        return
                    if line.strip():
                        await self._take(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            for send in (*self._waiting.values(), *filter(None, [self._unasked])):
                send.close()
            self._waiting.clear()
            self._unasked = None

    async def _take(self, line: bytes) -> None:
        try:
            message = parse(line, "on standard output")
        except ProtocolError as exc:
            logger.warning("%s: %s", self.url, exc)
            return
        if "method" in message and "id" in message:
            await self._answer(message)
            return
        send = self._waiting.get(about(message))
        if send is None and not is_answer(message):
            send = self._unasked
        if send is not None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await send.send(message)

    async def _answer(self, message: Message) -> None:
        """Answers what a server of the older era asks: whether we are here, and nothing else."""
        asked = message["id"]
        if message["method"] == words.PING:
            answer = result(asked, {})
        else:
            answer = error(asked, METHOD_NOT_FOUND, f"unknown method {message['method']!r}", None)
        with suppress(ConnectionLost, orjson.JSONEncodeError):
            await self._write(answer)


async def _drained(receive: MemoryObjectReceiveStream[Message]) -> AsyncIterator[Message]:
    with receive:
        async for message in receive:
            yield message


async def _to_the_end(
    messages: AsyncIterator[Message], params: Mapping[str, Any], url: str
) -> AsyncIterator[Message]:
    async for message in messages:
        if is_answer(message):
            result_of(message, params)
            return
        yield message
    raise ConnectionLost(f"{url} ended")


async def _end(process: Process) -> None:
    """Lets a process end, and ends it and its children where it does not."""
    assert process.stdin is not None
    with suppress(anyio.BrokenResourceError, OSError):
        await process.stdin.aclose()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with anyio.move_on_after(_PARTING_S):
            await process.wait()
            break
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    await process.aclose()
