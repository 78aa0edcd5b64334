"""MCP over two byte streams, one message a line: the stdio transport, the same in each era. Knows no method names.

T1 a peer that cancels a request hears nothing more for it; a peer that is gone ends everything
T3 what is held is bounded: a line that has begun, a few requests at work, and `Limits.requests` that wait
V1 each frame is written whole before the next one, a long answer piece by piece

The peer's end of file is the end: what was asked is answered and subscriptions get their result, as long as the
peer takes it.
"""

from __future__ import annotations

import errno
import logging
from itertools import chain
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel

from streamres.errors import InvalidRequest, LimitExceeded, StreamresError
from streamres.protocol import jsonrpc
from streamres.protocol.error_codes import code_of, data_of
from streamres.protocol.lines import LineSplitter
from streamres.server import Begun, Cancel, LongReply, Pending, Reply, Stream
from streamres.transport.descriptors import Sink, read_some, until_hung_up

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyio.abc import TaskGroup, TaskStatus

    from streamres.limits import Limits
    from streamres.protocol.jsonrpc import RequestId
    from streamres.server import Dispatcher
    from streamres.server.session import Session

logger = logging.getLogger("streamres.stdio")

_AT_WORK: Final = 32
"""Requests whose answer is being made or written; no further line is read meanwhile, so a flood costs little."""

_GONE: Final = (errno.EPIPE, errno.ECONNRESET)


class StdioPeer:
    """One peer: it asks on the descriptor `source` and hears on `sink`."""

    def __init__(self, dispatcher: Dispatcher, limits: Limits, source: int, sink: int) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self._source = source
        self._sink_fd = sink
        self._sink = Sink(sink)
        self._under_way: dict[RequestId, anyio.CancelScope] = {}
        self._session: Session | None = None
        self._at_work = anyio.Semaphore(_AT_WORK)
        self._waiting = 0
        self._writing = anyio.Lock(fast_acquire=True)
        # Neither cancellation from outside nor that of one request cuts a frame; only `_cut` does.
        self._answering = anyio.CancelScope(shield=True)
        self._frame = anyio.CancelScope(shield=True)

    async def serve(self) -> None:
        """Serves until the peer ends its stream or is gone; left by cancellation, the end is in order as well."""
        ended = anyio.Event()
        async with anyio.create_task_group() as reading:

            async def answer(*, task_status: TaskStatus[TaskGroup]) -> None:
                with self._answering:
                    async with anyio.create_task_group() as watching:
                        watching.start_soon(self._until_hung_up)
                        async with anyio.create_task_group() as requests:
                            task_status.started(requests)
                            await ended.wait()
                            self._dispatcher.close()
                            watching.start_soon(self._until_stalled)
                        watching.cancel_scope.cancel()
                reading.cancel_scope.cancel()

            requests = await reading.start(answer)
            try:
                await self._read(requests)
            finally:
                ended.set()

    async def _read(self, requests: TaskGroup) -> None:
        lines = LineSplitter(self._limits.body_bytes)
        while data := await read_some(self._source):
            for line in lines.feed(data):
                if line is None or line.strip():
                    await self._at_work.acquire()
                    if self._answering.cancel_called:
                        return  # the peer is gone, and with it whoever would have taken the answer
                    self._begin(line, requests)

    def _begin(self, line: bytes | None, requests: TaskGroup) -> None:
        """Starts the task of one line, in the order of the lines: a cancellation finds what it names."""
        if line is None:
            too_long = LimitExceeded("body_bytes", self._limits.body_bytes, "send less in one line")
            requests.start_soon(self._refuse_line, None, too_long)
            return
        request_id = jsonrpc.request_id_of(line)
        if request_id in self._under_way:
            twice = InvalidRequest('"id" is that of a request that is not answered yet')
            requests.start_soon(self._refuse_line, request_id, twice)
            return
        scope = anyio.CancelScope()
        if request_id is not None:
            self._under_way[request_id] = scope
        requests.start_soon(self._serve, line, request_id, scope)

    async def _serve(self, line: bytes, request_id: RequestId | None, scope: anyio.CancelScope) -> None:
        begun: Session | None = None
        try:
            with scope:
                begun = await self._answer(line, request_id)
        finally:
            if request_id is not None:
                del self._under_way[request_id]
        if begun is not None:
            await self._push(begun)

    async def _push(self, session: Session) -> None:
        """Tells what the session is to be told until the end: this connection is its one stream."""
        try:
            await session.run(self._write)
        except Exception:
            logger.exception("a session ended by a fault; its client can begin another")
        finally:
            session.end()
            self._session = None

    async def _answer(self, line: bytes, request_id: RequestId | None) -> Session | None:
        """Answers one line, and gives the session that it began."""
        try:
            match outcome := await self._dispatcher.dispatch(line, session=self._session):
                case Reply() | LongReply():
                    await self._reply(outcome)
                case Begun(reply=reply, session=session):
                    self._session = session
                    await self._reply(reply)
                    return session
                case Cancel(request_id=named):
                    if (scope := self._under_way.get(named)) is not None:
                        scope.cancel()
        finally:
            self._at_work.release()
        if not isinstance(outcome, Pending | Stream):
            return None
        if self._waiting >= self._limits.requests:
            await self._refuse(request_id, LimitExceeded("requests", self._limits.requests, "cancel some first"))
            return None
        self._waiting += 1
        try:
            if isinstance(outcome, Pending):
                await self._reply(await outcome.answer())
            else:
                await outcome.run(self._write)
        finally:
            self._waiting -= 1
        return None

    async def _refuse_line(self, request_id: RequestId | None, exc: StreamresError) -> None:
        try:
            await self._refuse(request_id, exc)
        finally:
            self._at_work.release()

    async def _refuse(self, request_id: RequestId | None, exc: StreamresError) -> None:
        await self._write(jsonrpc.error(request_id, code_of(exc), str(exc), data_of(exc)))

    async def _reply(self, reply: Reply | LongReply) -> None:
        if isinstance(reply, Reply):
            await self._write(reply.body)
        else:
            await self._write_pieces(chain(reply.pieces, (b"\n",)))

    async def _write(self, message: bytes) -> None:
        await self._write_pieces((message + b"\n",))

    async def _write_pieces(self, pieces: Iterable[bytes]) -> None:
        async with self._writing:
            # The lock can come after the cancellation: nothing is sent for that request then.
            await anyio.lowlevel.checkpoint_if_cancelled()
            with anyio.CancelScope(shield=True) as self._frame:
                try:
                    for piece in pieces:
                        await self._sink.write(piece)
                except OSError as exc:
                    if exc.errno not in _GONE:
                        logger.error("the answers cannot be written: %s", exc)
                    self._cut()
                except StreamresError as exc:
                    # A part of the frame is written: the peer can only be told by an end.
                    logger.error("an answer could not be ended, and its peer is: %s", exc)
                    self._cut()

    async def _until_hung_up(self) -> None:
        await until_hung_up(self._sink_fd)
        self._cut()

    async def _until_stalled(self) -> None:
        """Ends all when the peer, after the end began, took nothing for a while: it does not read any more."""
        before = -1
        while self._sink.written != before:
            before = self._sink.written
            await anyio.sleep(self._limits.grace_s)
        self._cut()

    def _cut(self) -> None:
        """Ends all at once: there is nobody to hear it."""
        self._answering.cancel()
        self._frame.cancel()
