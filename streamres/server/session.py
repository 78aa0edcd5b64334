"""One session of the older era: what its client subscribed to, and the stream that tells it (SR-10.9).

A session outlives its streams. It keeps one head for each resource that changed since it was subscribed to, and
tells them all on every new stream: what its client took of a stream that was cut, nobody knows.
"""

from __future__ import annotations

from contextlib import ExitStack
from secrets import token_urlsafe
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from streamres.errors import LimitExceeded
from streamres.model import Description
from streamres.protocol import messages
from streamres.protocol.binding import Form
from streamres.store import covering

if TYPE_CHECKING:
    from streamres.model import Head
    from streamres.server.outcome import Write
    from streamres.server.subscriptions import Subscriptions
    from streamres.store import Watch


class Session:
    """One client of the older era: what it subscribed to, and what it is to be told on its stream."""

    def __init__(self, hub: Subscriptions) -> None:
        self.id = token_urlsafe(24)
        """A secret: whoever knows it hears what the session hears, and can end it."""
        self.used = 0.0
        """When it was last asked for something or had a stream, by the clock of its `Sessions`."""
        self._hub = hub
        self._uris: dict[str, None] = {}
        self._changed: dict[str, Head] = {}
        self._list_changed = False
        self._watching = ExitStack()
        self._watch = self._watch_anew()
        self._idle = False
        self._stream: anyio.CancelScope | None = None
        self._telling = anyio.Lock()

    @property
    def streaming(self) -> bool:
        """Says whether a stream is open."""
        return self._stream is not None

    @property
    def behind(self) -> bool:
        """Says whether there is something that its open stream has not been sent."""
        return not self._idle or self._watch.marked

    def subscribe(self, uri: str) -> None:
        """Tells, from now on, of the resource at `uri`, there or not yet, or of all below one that ends in `/`.

        Raises:
            UriInvalid: no resource can have this URI.
            LimitExceeded: one URI too many.
        """
        Description(uri=uri, name=uri)
        if uri in self._uris:
            return
        most = self._hub.limits.subscription_uris
        if len(self._uris) >= most:
            raise LimitExceeded("subscription_uris", most, "unsubscribe from some, or subscribe to a prefix")
        self._uris[uri] = None
        self._watch = self._watch_anew(self._watch)

    def unsubscribe(self, uri: str) -> None:
        """Tells no more of `uri`; nothing where it was not subscribed to."""
        if uri not in self._uris:
            return
        del self._uris[uri]
        self._watch = self._watch_anew(self._watch)
        self._changed = {changed: head for changed, head in self._changed.items() if self._covers(changed)}

    async def run(self, write: Write) -> None:
        """Writes what changed since it was subscribed to, then what changes, until the session or the server ends.

        A second run ends the first: of two streams of a client, the older is the one that it has lost.
        """
        if self._stream is not None:
            self._stream.cancel()
        with anyio.CancelScope() as scope:
            self._stream = scope
            try:
                async with self._telling:
                    self._hub.open.add(self)
                    try:
                        await self._tell(write)
                    finally:
                        self._hub.open.discard(self)
            finally:
                if self._stream is scope:
                    self._stream = None

    def end(self) -> None:
        """Ends its stream, and forgets everything."""
        self._watching.close()
        if self._stream is not None:
            self._stream.cancel()

    def leave(self) -> None:
        """Marks no more; what is marked is still told. For the end of a server, which wakes every stream."""
        self._watching.close()

    async def _tell(self, write: Write) -> None:
        self._take()
        heads, list_changed = self._changed, self._list_changed
        while True:
            for uri, head in list(heads.items()):
                if self._covers(uri):
                    (message, _), _ = await self._hub.frame(uri, None, head, Form(binding="meta"), in_session=True)
                    await write(message)
                    await anyio.lowlevel.checkpoint()  # V4: many that changed give way to the other readers
            if list_changed:
                await write(messages.list_changed(None))
            if self._hub.closing.begun:
                return
            await self._until_marked()
            heads, list_changed = self._take()

    async def _until_marked(self) -> None:
        watch = self._watch
        with self._hub.closing.waking(watch):
            self._idle = True
            try:
                await watch.wait()
            finally:
                self._idle = False

    def _take(self) -> tuple[dict[str, Head], bool]:
        heads, list_changed = self._watch.take(), self._watch.take_list_changed()
        self._changed |= heads
        self._list_changed |= list_changed
        return heads, list_changed

    def _watch_anew(self, before: Watch | None = None) -> Watch:
        """Watches what is subscribed to now, with the marks of the watch before; no commit falls in between."""
        anew = ExitStack()
        watch = anew.enter_context(self._hub.store.watch(self._uris, list_changed=True))
        self._watching.close()
        self._watching = anew
        if before is not None:
            for uri, head in before.take().items():
                if self._covers(uri):
                    watch.mark(uri, head)
            if before.take_list_changed():
                watch.mark_list()
            before.wake()
        return watch

    def _covers(self, uri: str) -> bool:
        return not self._uris.keys().isdisjoint(covering(uri))
