"""What a command writes, into a resource and on to where it would have gone."""

from __future__ import annotations

import os
import select
from collections import defaultdict
from typing import TYPE_CHECKING

import anyio

from streamres.model import Utf8Decoder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from streamres.model import Kind
    from streamres.sources.command import Channel, Command, Ended


class Recording:
    """Appends each piece of a command's output, then mirrors it: a mirror that blocks holds back the command."""

    def __init__(self, append: Callable[[bytes], Awaitable[None]], *, kind: Kind) -> None:
        self._append = append
        self._kind = kind
        # One decoder a channel: a code point that is cut on one must not meet bytes of the other.
        self._decoders: defaultdict[Channel, Utf8Decoder] = defaultdict(Utf8Decoder)
        self._broken: dict[Channel, OSError] = {}

    @property
    def replaced_bytes(self) -> int:
        """Bytes that were not UTF-8 and stand as U+FFFD in the resource; the mirror has them as they were."""
        return sum(decoder.replaced for decoder in self._decoders.values())

    @property
    def mirror_failure(self) -> OSError | None:
        """Why the output went on into the resource alone, if it did: a full disk, say."""
        return next(iter(self._broken.values()), None)

    async def run(self, command: Command) -> Ended:
        """Takes everything until the command has ended, and gives how."""
        ended = await command.drain(self._take)
        for decoder in self._decoders.values():
            await self._append(decoder.decode(b"", final=True))
        return ended

    async def _take(self, channel: Channel, data: bytes) -> bool:
        await self._append(data if self._kind == "blob" else self._decoders[channel].decode(data))
        if channel.mirror is None or channel in self._broken:
            return True
        try:
            await anyio.to_thread.run_sync(_write_all, channel.mirror, data)
        except BrokenPipeError:
            return False  # nobody reads on: the command is told so, as it would be without us
        except OSError as exc:
            self._broken[channel] = exc
        return True


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            select.select([], [fd], [])
