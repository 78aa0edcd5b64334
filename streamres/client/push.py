"""Appends to a resource of a server elsewhere, each one once, whatever the network and the processes do (SR-9)."""

from __future__ import annotations

import fcntl
import struct
import termios
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

import anyio

from streamres.client.backlog import MemoryBacklog
from streamres.client.delivery import Delivery
from streamres.client.room import Room
from streamres.client.sending import APPEND_BYTES, Sending
from streamres.client.spool import Spool
from streamres.client.uploads import Uploads
from streamres.errors import LimitExceeded, ResourceSealed
from streamres.limits import BUFFER_BYTES, SPOOL_BYTES
from streamres.model.json_value import encode_given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from anyio.abc import TaskGroup

    from streamres.client.backoff import FaultHook
    from streamres.client.room import OnFull
    from streamres.model import Kind, Seal, State


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
        takes_over = producer is not None and not self._backlog.resumed
        self._sending = Sending(self._backlog, self._delivery, kind=kind, takes_over=takes_over)
        self._room = Room(self._backlog, self._sending, kind=kind, on_full=on_full)
        self._piece_bytes = max(1, min(APPEND_BYTES, self._backlog.limit // 4))
        self._group: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._group = group = anyio.create_task_group()
        await group.__aenter__()
        group.start_soon(self._sending.run)
        if isinstance(self._backlog, Spool):
            group.start_soon(self._sending.keep)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._group is not None
        self._group.cancel_scope.cancel()
        try:
            await self._group.__aexit__(None, None, None)
        finally:
            self._backlog.close(finished=self._sending.finished)
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
        return self._sending.seal or "open"

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

    @property
    def dropped_bytes(self) -> int:
        """Bytes that were left out for want of room, with `on_full="drop-oldest"`."""
        return self._room.dropped_bytes

    @property
    def blocked_s(self) -> float:
        """Seconds for which this producer's user had to wait for room."""
        return self._room.blocked_s

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
            await self._room.have(size)
        taken = self._backlog.take_from(fd, size or self._piece_bytes)
        if taken:
            self._sending.go_on()
        return taken

    async def go_on_in(self, fd: int) -> None:
        """Passes over what a spool has of a regular file already; see `Spool.go_on_in`."""
        if isinstance(self._backlog, Spool):
            await self._backlog.go_on_in(fd)

    async def flush(self) -> None:
        """Returns when all that can be sent was acknowledged; raises as `append`."""
        await self._sending.until_sent()

    async def seal(self, state: Seal = "complete") -> None:
        """Says that nothing follows, and returns when that is acknowledged; raises as `append`.

        Where nobody else has written, the seal carries the digest of what was sent.

        Raises:
            DigestMismatch: the server has other content; nothing was sealed.
        """
        if self._sending.seal is None:
            self._sending.end(state)
        await self.flush()

    async def _add(self, data: bytes) -> None:
        if (seal := self._sending.seal) is not None:
            raise ResourceSealed(self.uri, seal)
        if data:
            await self._room.have(len(data))
            self._backlog.add(data)
            self._sending.go_on()


def _available(fd: int, unknown: int) -> int:
    """How many bytes a file has to be read at once, or `unknown`."""
    with suppress(OSError):
        return int(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, struct.pack("i", 0)))[0])
    return unknown
