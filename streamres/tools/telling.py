"""What a plain call's caller is told before the result: outputs, progress, partials (SR-8.2, SR-11.1).

Nothing is queued for a caller that reads slowly but the last steps of progress: partials are merged deltas, read
from the store when there is room for one.
"""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import anyio.lowlevel

from streamres.model import Append, Patch, Position, Snapshot
from streamres.protocol import calls
from streamres.protocol.blocks import link_members

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.model import Head, Reading
    from streamres.protocol.calls import CallRequest
    from streamres.protocol.text import TextEncoder
    from streamres.server import Write
    from streamres.sources.resource import Resource
    from streamres.store import Store

PROGRESS_KEPT: Final = 256
"""Steps of progress that wait for a slow reader; of more, the oldest are left out."""


_NO_PATCH: Final = b"[]"


class Teller:
    """Tells one caller, until the call ends or is handed over to a task."""

    def __init__(self, store: Store, encoder: TextEncoder, limits: Limits, asked: CallRequest) -> None:
        self._store = store
        self._encoder = encoder
        self._limits = limits
        self._asked = asked
        self._named: deque[Resource] = deque()
        self._progress: deque[bytes] = deque(maxlen=PROGRESS_KEPT)
        self._outputs: dict[str, Resource] = {}
        self._sent: dict[str, Position | None] = {}
        self._seq = 0
        self._ended = self._left = self._final = False
        self._watching = ExitStack()
        self._watch = self._watching.enter_context(store.watch(()))

    def named(self, output: Resource) -> None:
        """Takes note of a new output."""
        self._named.append(output)
        self._outputs[output.uri] = output
        # Text and blobs begin empty, so the first partial is a delta too.
        begin = Position(output.head.position.epoch, 0, 0)
        self._sent[output.uri] = None if output.kind == "json" else begin
        if self._asked.partial_token is not None:
            anew = ExitStack()
            watch = anew.enter_context(self._store.watch(self._outputs))
            self._watching.close()
            self._watching = anew
            before, self._watch = self._watch, watch
            for uri, head in before.take().items():
                watch.mark(uri, head)
            if output.kind == "json":
                watch.mark(output.uri, output.head)  # its first value is news too
            before.wake()
        self._watch.wake()

    def progressed(self, value: float, total: float | None, message: str | None) -> None:
        """Takes note of progress."""
        if self._asked.progress_token is not None:
            self._progress.append(calls.progress(self._asked.progress_token, value, total, message))
            self._watch.wake()

    def end(self) -> None:
        """The call has ended, and every output is sealed: what is left is told, and `run` returns."""
        self._ended = True
        self._watch.wake()

    def leave(self) -> None:
        """The call goes on as a task: `run` returns as soon as a message is whole."""
        self._left = True
        self._watch.wake()

    async def run(self, write: Write) -> None:
        """Writes what there is to tell."""
        try:
            while not self._left:
                watch, ended = self._watch, self._ended
                while self._named:
                    await self._name(self._named.popleft(), write)
                while self._progress:
                    await write(self._progress.popleft())
                if self._asked.partial_token is not None:
                    await self._catch_up_all(watch.take(), write, ended=ended)
                if ended:
                    return
                await watch.wait()
        finally:
            self._watching.close()

    async def _catch_up_all(self, heads: dict[str, Head], write: Write, *, ended: bool) -> None:
        if ended:
            heads = {uri: (await self._store.entry(uri)).head for uri in self._outputs}
        last = list(heads)[-1:]
        for uri, head in heads.items():
            await self._catch_up(self._outputs[uri], head, write, last=ended and [uri] == last)
        if ended and last and not self._final and not self._left:
            # All was told before the call had ended.
            (uri,) = last
            reading = await self._store.read(uri, self._sent[uri])
            await self._tell(self._outputs[uri], reading, b"", write, final=True)

    async def _name(self, output: Resource, write: Write) -> None:
        binding = self._asked.form.binding
        if binding is not None:
            link = link_members(await self._store.entry(output.uri), binding)
            await write(calls.outputs(self._asked.id, [link], binding))

    async def _catch_up(self, output: Resource, head: Head, write: Write, *, last: bool) -> None:
        uri = output.uri
        sent = self._sent[uri]
        while not self._left and sent != head.position:
            reading = await self._store.read(
                uri, sent, max_bytes=self._limits.notification_bytes, append_op=self._asked.form.append_op
            )
            step = reading.step
            match step:
                case Patch():
                    encoded = b"" if step.operations == _NO_PATCH else step.operations
                case Snapshot() if output.kind == "json":
                    encoded = b"".join(step.slices())
                case Append() | Snapshot():
                    encoded = self._encoder.joined(uri, step)
            if reading.state != "open" and not encoded and not self._ended:
                return  # a seal alone waits for the end, which it may be
            self._sent[uri] = sent = step.stop
            await self._tell(output, reading, encoded, write, final=last and reading.state != "open")
            if reading.step.stop.revision > head.position.revision:
                return  # there was more by then, and a mark for it
            await anyio.lowlevel.checkpoint()  # V4: a burst gives way to the other readers

    async def _tell(
        self, output: Resource, reading: Reading, encoded: bytes, write: Write, *, final: bool
    ) -> None:
        token, seq = self._asked.partial_token, self._seq
        assert token is not None
        self._final = self._final or final
        self._seq += 1
        await write(calls.partial(token, seq, output.description, reading, encoded, final=final))
