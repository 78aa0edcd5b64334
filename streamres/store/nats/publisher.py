"""Puts messages into the stream, and finds out whether they are there."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from streamres.errors import StoreError
from streamres.store.nats.messages import Append, Create, PartsRef, Replace, RollUp, data_of, encode
from streamres.store.nats.parts import USED_S, encode_part
from streamres.store.nats.replica import Pending
from streamres.store.nats.stream import PAUSE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamres.store.nats.messages import Command
    from streamres.store.nats.replica import Replica
    from streamres.store.nats.stream import Stream

ROLL_UP_OVERHEAD_BYTES: Final = 4096
"""What a roll-up costs whatever it holds: below it nothing is won."""

_PARTS_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Upload:
    """Data that is in the stream in parts, and counts for nothing yet."""

    ref: PartsRef
    first_seq: int
    at: float


Uploads = dict[tuple[type, int], Upload]
"""By the kind of the command and the identity of its data, so that a second attempt does not send it again."""


class Publisher:
    """Publishes for one replica."""

    def __init__(self, stream: Stream, replica: Replica, *, patience_s: float, outcome_s: float) -> None:
        self._stream = stream
        self._replica = replica
        self._patience_s = patience_s
        self._outcome_s = outcome_s

    @property
    def inline_bytes(self) -> int:
        """The most data of one command that goes in the message itself; more goes in parts before it."""
        return self._stream.max_data_bytes // 2

    async def publish(
        self, uri: str, base: int, commands: Sequence[Command], uploads: Uploads, *, roll_up: bool = False
    ) -> int | None:
        """Gives the sequence number once the message is in the stream and applied; None if another has its place.

        With `roll_up` the messages about the resource before it are removed in the same step.

        Raises:
            StoreError: it is not in the stream; or, where the text says so, nobody knows.
        """
        pending = self._replica.pending[uri] = Pending(token_hex(16), base)
        loop = asyncio.get_running_loop()
        began = loop.time()
        uncertain = False
        try:
            while True:
                raw = await self._encoded(uri, pending, commands, uploads)
                answer = await self._stream.publish(
                    self._stream.address.subject(uri), raw, name=pending.op, base=base, roll_up=roll_up
                )
                uncertain = uncertain or answer == "unknown" or isinstance(answer, int)
                limit = began + (self._outcome_s if uncertain else self._patience_s)
                match answer:
                    case int():
                        await self._decided(pending, limit)
                    case "conflict":
                        # The replica will see what is there; what is only on its way may also be given up.
                        with suppress(StoreError):
                            await self.catch_up()
                    case _:
                        with suppress(TimeoutError):
                            async with asyncio.timeout_at(limit):
                                await self._stream.connected()
                if pending.decided.is_set():
                    match pending.counts, answer:
                        case (True, _) | (None, int()):
                            return pending.seq
                        case False, _ if pending.seq:
                            raise self.refused("the message is there, and its parts came too long before it")
                        case False, _:
                            return None
                        case None, "conflict" if not uncertain:
                            return None
                        case None, "conflict":
                            raise self.unknown("others wrote and compacted meanwhile")
                if self._replica.failure is not None:
                    raise self._replica.failure
                if loop.time() >= limit:
                    if uncertain:
                        raise self.unknown(self._stream.trouble)
                    raise self.refused(self._stream.trouble)
                await asyncio.sleep(PAUSE_S / 10 if answer == "conflict" else PAUSE_S)
        finally:
            del self._replica.pending[uri]

    async def catch_up(self, timeout_s: float | None = None) -> None:
        """Returns once all is applied that was in the stream when it was called.

        Raises:
            StoreError: it takes too long, or there is no connection.
        """
        last = await self._stream.last_seq()
        try:
            async with asyncio.timeout(self._patience_s if timeout_s is None else timeout_s):
                await self._replica.wait(last)
        except TimeoutError:
            raise StoreError(f"{self._stream.address.shown}: this server is behind the stream") from None

    async def roll_up(self, uri: str, *, least: int) -> int | None:
        """Puts one message in place of all about a resource, where they take `least` bytes and twice what it does.

        Gives its sequence number; None where it is not worth it, or another server was faster.

        Raises: as `publish`.
        """
        resource = self._replica.find(uri)
        if resource is None or resource.stored < max(least, 2 * resource.size + ROLL_UP_OVERHEAD_BYTES):
            return None
        base, uploads = self._replica.seq_of(uri), Uploads()
        seq = await self.publish(uri, base, [RollUp(state=resource.state())], uploads, roll_up=True)
        if seq:
            await self.purge_parts(uri, seq, uploads)
        return seq

    async def purge_parts(self, uri: str, seq: int, uploads: Uploads) -> None:
        """Removes the parts of messages that are gone by the message `seq`; others may still be named."""
        unnamed = self._replica.parts.oldest(self._stream.address.parts_subject(uri))
        own = [upload.first_seq for upload in uploads.values()]
        await self._stream.purge_parts(uri, min([seq, *own, *([] if unnamed is None else [unnamed])]))

    def refused(self, why: str) -> StoreError:
        """Gives the error that says that nothing was kept."""
        return StoreError(f"{self._stream.address.shown}: {why}; nothing of it was kept")

    def unknown(self, why: str) -> StoreError:
        """Gives the error that says that nobody knows."""
        return StoreError(
            f"{self._stream.address.shown}: {why}; whether it was kept is not known: look at what is there,"
            " or send it again with its number"
        )

    async def _decided(self, pending: Pending, limit: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout_at(limit):
                await pending.decided.wait()

    async def _encoded(self, uri: str, pending: Pending, commands: Sequence[Command], uploads: Uploads) -> bytes:
        said: list[tuple[Command, bytes | PartsRef]] = []
        for command in commands:
            data = data_of(command)
            said.append(
                (
                    command,
                    data if len(data) <= self.inline_bytes else await self._in_parts(uri, command, data, uploads),
                )
            )
        return encode(uri, pending.base, pending.op, said)

    async def _in_parts(self, uri: str, command: Command, data: bytes, uploads: Uploads) -> PartsRef:
        """Publishes data ahead of the message that names it."""
        key = (type(command), id(_content(command)))
        upload = uploads.get(key)
        now = asyncio.get_running_loop().time()
        if upload is None or upload.at < now - USED_S:
            size = self._stream.max_data_bytes
            id_ = token_hex(16)
            pieces = [data[begin : begin + size] for begin in range(0, len(data), size)]
            first_seq = 0
            for begin in range(0, len(pieces), _PARTS_AT_ONCE):
                some = enumerate(pieces[begin : begin + _PARTS_AT_ONCE], begin)
                seqs = await asyncio.gather(*(self._part(uri, id_, index, piece) for index, piece in some))
                first_seq = first_seq or min(seqs)
            upload = uploads[key] = Upload(PartsRef(id_, len(pieces)), first_seq, now)
        return upload.ref

    async def _part(self, uri: str, id_: str, index: int, piece: bytes) -> int:
        limit = asyncio.get_running_loop().time() + self._patience_s
        subject, raw = self._stream.address.parts_subject(uri), encode_part(id_, index, piece)
        while True:
            answer = await self._stream.publish(subject, raw, name=f"{id_}.{index}")
            if isinstance(answer, int):
                return answer
            if asyncio.get_running_loop().time() >= limit:
                raise self.refused(self._stream.trouble)
            await asyncio.sleep(PAUSE_S)


def _content(command: Command) -> object:
    """The very object that a second attempt has too."""
    match command:
        case Create():
            return command.content
        case Append() | Replace():
            return command.data
        case _:
            return command
