"""Appends to a resource of a server elsewhere, each one once, whatever the network and the processes do (SR-9)."""

from __future__ import annotations

import fcntl
import struct
import termios
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, Literal, Self, get_args

import anyio

from streamres.client.backlog import MemoryBacklog
from streamres.client.delivery import Delivery
from streamres.client.framing import cut
from streamres.client.spool import Spool
from streamres.client.uploads import Uploads
from streamres.errors import LimitExceeded, ResourceSealed, StreamresError
from streamres.limits import BUFFER_BYTES, SPOOL_BYTES
from streamres.model.json_value import encode_given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from anyio.abc import TaskGroup

    from streamres.client.backoff import FaultHook
    from streamres.model import Kind, Seal, State

OnFull = Literal["block", "drop-oldest", "fail"]
"""What is done where no more can be held: wait for room, leave out the oldest that was not sent, or end."""

ON_FULL: Final[tuple[OnFull, ...]] = get_args(OnFull)

_APPEND_BYTES: Final = 1024 * 1024
"""What was given meanwhile goes in one append, up to so much."""

_DROP_PARTS: Final = 16
"""A part of the limit is dropped at once, so that the log does not say it again and again."""

_LINE_BYTES: Final = 4096
"""How far the end of a line is looked for, to drop whole ones."""

_KEEP_S: Final = 0.1
"""Seconds in which what a spool was given goes onto the disk together."""


class Producer:
    """One producer of one resource at `url`, the MCP endpoint of a server that takes uploads.

    Its appends are numbered, so one that is sent again after a fault is not made twice. With a `spool`, a folder
    of its own, that holds across a restart too: another producer with the same folder goes on with the same
    numbers. `producer` is its id; with one that wrote before, and without its spool, it takes over: the older one
    is refused from then on.

    It holds `buffer_bytes`, or with a spool `spool_bytes`, undelivered; `on_full` says what is done with more. Use
    it as an async context manager.

    Raises:
        StoreError: the spool is in use, another producer's, or cannot be written.
        LimitExceeded: the limit of what it holds is none.
    """

    def __init__(
        self,
        url: str,
        uri: str,
        *,
        kind: Kind = "text",
        producer: str | None = None,
        spool: Path | str | None = None,
        spool_bytes: int = SPOOL_BYTES,
        buffer_bytes: int = BUFFER_BYTES,
        on_full: OnFull = "block",
        on_fault: FaultHook | None = None,
    ) -> None:
        self.uri = uri
        self.kind = kind
        if kind == "json" and on_full == "drop-oldest":
            raise LimitExceeded("on_full", 0, "a patch cannot be left out of a document: choose block or fail")
        self._uploads = Uploads(url)
        self._backlog: MemoryBacklog | Spool = (
            MemoryBacklog(producer or token_hex(8), buffer_bytes)
            if spool is None
            else Spool(Path(spool), uri, kind=kind, producer=producer, limit=spool_bytes)
        )
        self._delivery = Delivery(self._uploads, self._backlog, uri, kind=kind, on_fault=on_fault)
        self._on_full = on_full
        self._piece_bytes = max(1, min(_APPEND_BYTES, self._backlog.limit // 4))
        self._seal: Seal | None = self._backlog.seal
        self._takes_over = producer is not None and not self._backlog.resumed
        self._finished = False
        self._idle = False  # nothing can be sent before more is given
        self._failure: StreamresError | None = None
        self._news = anyio.Event()
        self._unsaid_dropped = 0
        self._group: TaskGroup | None = None
        self.dropped_bytes = 0
        """Bytes that were left out for want of room, with `on_full="drop-oldest"`."""
        self.blocked_s = 0.0
        """Seconds for which this producer's user had to wait for room."""

    async def __aenter__(self) -> Self:
        self._group = group = anyio.create_task_group()
        await group.__aenter__()
        group.start_soon(self._send)
        if isinstance(self._backlog, Spool):
            group.start_soon(self._keep)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._group is not None
        self._group.cancel_scope.cancel()
        try:
            await self._group.__aexit__(None, None, None)
        finally:
            self._backlog.close(finished=self._finished)
            with anyio.CancelScope(shield=True):
                await self._uploads.close()

    @property
    def id(self) -> str:
        """The producer's id on the wire."""
        return self._backlog.producer

    @property
    def epoch(self) -> int:
        """The producer's epoch on the wire."""
        return self._backlog.epoch

    @property
    def state(self) -> State:
        """`open` until this producer was told to seal, in a process before this one too."""
        return self._seal or "open"

    @property
    def waiting_bytes(self) -> int:
        """Bytes that were given and are not acknowledged."""
        return self._backlog.waiting

    @property
    def sent_bytes(self) -> int:
        """Bytes that were acknowledged in this process."""
        return self._delivery.sent_bytes

    @property
    def replaced_bytes(self) -> int:
        """Bytes that were not UTF-8 and stand as U+FFFD (SR-2.1)."""
        return self._delivery.replaced_bytes

    async def append(self, data: bytes) -> None:
        """Adds bytes, and tries until they are there. Of a text, a code point cut at the end waits for the rest.

        To json, the bytes are one patch in JSON.

        Raises:
            RpcError: the server refuses it: the resource is sealed, say.
            ProducerFenced: another producer took over with this one's id.
            ProtocolError: whatever answers there takes no uploads, or has lost some.
            LimitExceeded, StoreError: as `put`.
        """
        await self.put(data)
        await self.flush()

    async def patch(self, operations: Sequence[Mapping[str, Any]]) -> None:
        """Changes the document of a json resource: all of the operations, or none; raises as `append` (SR-2.3)."""
        await self.append(encode_given(operations))

    async def put(self, data: bytes) -> None:
        """Adds bytes, and returns when they are held; they are sent meanwhile, several in one append.

        Raises:
            LimitExceeded: there is no room, with `on_full="fail"`; or never can be for one patch.
            StoreError: the spool cannot be written.
        Also what was refused of that given before, as `append`.
        """
        if self.kind == "json":
            # A line each: a raw line end can only stand between the tokens of JSON.
            await self._add(data.replace(b"\n", b" ") + b"\n" if data else b"")
            return
        for begin in range(0, len(data), self._piece_bytes):
            await self._add(data[begin : begin + self._piece_bytes])

    async def put_from(self, fd: int) -> int:
        """Adds some of what the file `fd` has, once it has any, and gives how many bytes; 0 at its end.

        Of json, each line is one patch. Nothing is taken from it while there is no room.

        Raises: as `put`.
        """
        with suppress(OSError):  # a regular file is never waited for
            await anyio.wait_readable(fd)
        size = min(_available(fd, self._piece_bytes), self._piece_bytes)
        if size:
            await self._have_room(size)
        taken = self._backlog.take_from(fd, size or self._piece_bytes)
        if taken:
            self._idle = False
            self._tell()
        return taken

    async def go_on_in(self, fd: int) -> None:
        """Passes over what a spool has of a regular file already; see `Spool.go_on_in`."""
        if isinstance(self._backlog, Spool):
            await self._backlog.go_on_in(fd)

    async def flush(self) -> None:
        """Returns when all that can be sent was acknowledged; raises as `append`."""
        while self._failure is not None or not self._finished:
            self._raise_failure()
            if self._idle:
                return
            await self._news.wait()

    async def seal(self, state: Seal = "complete") -> None:
        """Says that nothing follows, and returns when that is acknowledged; raises as `append`.

        Where nobody else has written, the seal carries the digest of what was sent.

        Raises:
            DigestMismatch: the server has other content; nothing was sealed.
        """
        if self._seal is None:
            self._seal = state
            self._idle = False
            self._tell()
        await self.flush()

    async def _add(self, data: bytes) -> None:
        if self._seal is not None:
            raise ResourceSealed(self.uri, self._seal)
        if data:
            await self._have_room(len(data))
            self._backlog.add(data)
            self._idle = False
            self._tell()

    async def _have_room(self, size: int) -> None:
        """Waits or makes room for so many bytes; more than the limit has room where nothing else is held."""
        backlog = self._backlog
        began = anyio.current_time()
        while True:
            self._raise_failure()
            excess = backlog.waiting + size - backlog.limit
            if excess <= 0 or backlog.waiting == 0:
                break
            if self._on_full == "fail":
                raise LimitExceeded(
                    backlog.limit_name, backlog.limit, "the server is behind; allow more, or block"
                )
            if self._on_full == "drop-oldest" and backlog.end > backlog.numbered_to:
                self._drop(excess)
                continue
            if self._idle:
                raise LimitExceeded(backlog.limit_name, backlog.limit, "write shorter patches, one a line")
            try:
                await self._news.wait()
            finally:
                self.blocked_s += anyio.current_time() - began
                began = anyio.current_time()

    def _drop(self, excess: int) -> None:
        """Leaves out the oldest that has no number yet: of a text whole lines, where they are not too long."""
        backlog = self._backlog
        size = max(excess, backlog.limit // _DROP_PARTS)
        if self.kind == "text":
            raw = backlog.unnumbered(size + _LINE_BYTES)
            size = raw.find(b"\n", size - 1) + 1 or size
            while size < len(raw) and raw[size] & 0xC0 == 0x80:
                size += 1
        size = min(size, backlog.end - backlog.numbered_to)
        backlog.skip(size)
        self.dropped_bytes += size
        self._unsaid_dropped += size

    async def _send(self) -> None:
        """Sends what there is, until the seal; a failure waits for whoever calls next."""
        # Who takes over does so with its first append: until then the older one goes on.
        while self._takes_over and self._backlog.end == 0 and self._seal is None:
            self._idle = True
            self._tell()
            await self._news.wait()
        while not self._finished:
            try:
                if not self._delivery.begun:
                    await self._delivery.begin()
                await self._send_all()
            except StreamresError as exc:
                self._failure = exc
                if self._backlog.pending is not None:
                    self._backlog.take_back()
                self._tell()
                while self._failure is not None:
                    await self._news.wait()

    async def _send_all(self) -> None:
        backlog = self._backlog
        while True:
            if (append := backlog.pending) is not None:
                await self._delivery.send(append)
                self._finished = append.seal is not None and backlog.pending is None
            elif backlog.seal is not None:
                self._finished = True  # in a process before this one
            elif not await self._number():
                self._idle = True
            self._tell()
            if self._finished:
                return
            while self._idle:
                await self._news.wait()

    async def _number(self) -> bool:
        """Makes the next append of what is there; says whether there was anything."""
        backlog = self._backlog
        left = backlog.end - backlog.numbered_to
        piece = cut(self.kind, backlog.unnumbered(_APPEND_BYTES))
        if not piece.taken and left > _APPEND_BYTES:
            piece = cut(self.kind, backlog.unnumbered(left))
        if not piece.taken and self._seal is not None and self.kind == "json":
            piece = cut(self.kind, backlog.unnumbered(left), final=True)
        if piece.taken and not piece.data:
            backlog.skip(piece.taken)
            return True
        if piece.taken:
            await backlog.number(backlog.numbered_to + piece.taken, **self._notice())
            return True
        if self._seal is not None:
            await backlog.number(backlog.end, seal=self._seal, **self._notice())
            return True
        return False

    def _notice(self) -> dict[str, Any]:
        """What the next append says of that which was left out before it."""
        dropped, self._unsaid_dropped = self._unsaid_dropped, 0
        if not dropped or self.kind != "text":
            return {"dropped": dropped}
        line_end = "" if self._delivery.at_line_start else "\n"
        return {"dropped": dropped, "notice": f"{line_end}[streamres: {dropped} bytes were dropped here]\n"}

    async def _keep(self) -> None:
        while True:
            try:
                await self._backlog.keep()
            except StreamresError as exc:
                self._failure = exc
                self._tell()
                return
            await anyio.sleep(_KEEP_S)
            await self._news.wait()

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    def _raise_failure(self) -> None:
        if (failure := self._failure) is not None:
            if isinstance(self._backlog, MemoryBacklog):
                self._failure = None  # what was refused is forgotten, and what follows may be taken
                self._tell()
            raise failure


def _available(fd: int, unknown: int) -> int:
    """How many bytes a file has to be read at once, or `unknown`."""
    with suppress(OSError):
        return int(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, struct.pack("i", 0)))[0])
    return unknown
