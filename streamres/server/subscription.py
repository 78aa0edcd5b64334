"""One `subscriptions/listen`: what changed, as cursors or with the deltas inside (sections 6 and 7).

A subscription holds one position a resource (SR-6.4).
"""

from __future__ import annotations

import json
import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING

import anyio.lowlevel

from streamres.errors import ResourceNotFound
from streamres.protocol import messages
from streamres.store import covering

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streamres.model import Head, Position
    from streamres.protocol.binding import Form, StreamFilter
    from streamres.protocol.jsonrpc import Request
    from streamres.server.more import Listening
    from streamres.server.outcome import Write
    from streamres.server.subscriptions import Subscriptions
    from streamres.store import Watch

logger = logging.getLogger("streamres.server")


class Subscription:
    """One open stream: says where everything stands, then what changed, until the peer or the server goes."""

    def __init__(
        self,
        hub: Subscriptions,
        request: Request,
        listening: Listening | None,
        *,
        form: Form,
        filters: Mapping[str, StreamFilter],
        since: dict[str, Position],
        list_changed: bool,
    ) -> None:
        self._hub = hub
        self._request_id = request.id
        # Not orjson: what it gives takes 4 KB for as long as it is kept.
        self._id = json.dumps(request.id).encode()
        self._form = form
        self._filters = filters
        self._list_changed = list_changed
        self._listening = listening
        self._heard_of: Sequence[str] = ()
        self._sent = since
        self._unsealed = set(filters)
        self._idle: Watch | None = None  # what it waits on, while it has nothing to do

    @property
    def behind(self) -> bool:
        """Says whether there is something that this subscriber has not been sent."""
        return self._idle is None or self._idle.marked

    async def run(self, write: Write, honoured: dict[str, object], streams: Iterable[str]) -> None:
        """Writes the acknowledgement, the notifications and, at an end that the server makes, the result."""
        hub = self._hub
        if self._listening is not None:
            self._heard_of = self._listening.uris
        hub.open.add(self)
        try:
            # V3: watch, then look, then drain: what is committed in between is marked, and sent once.
            with (
                hub.store.watch([*self._filters, *self._heard_of], list_changed=self._list_changed) as watch,
                hub.closing.waking(watch),
                nullcontext() if self._listening is None else self._listening.waking(watch),
            ):
                heads = await self._look()
                await write(self._acknowledgement(heads, honoured, streams))
                await self._tell(self._heard_of, write)
                changed = {uri: head for uri, head in heads.items() if head is not None}
                while True:
                    for uri, head in changed.items():
                        await self._catch_up(uri, head, write)
                    if watch.take_list_changed():
                        await write(messages.list_changed(self._request_id))
                    if hub.closing.begun or self._ended:
                        break
                    self._idle = watch
                    await watch.wait()
                    self._idle = None
                    changed = watch.take()
                    if self._listening is not None:
                        heard = [uri for uri in self._heard_of if changed.pop(uri, None) is not None]
                        await self._tell(heard, write)
                await write(hub.messages.listen_result(self._request_id))
        finally:
            hub.open.discard(self)
            logger.info(
                "subscription ended",
                extra={
                    "event": "subscription_ended",
                    "resources": len(self._filters),
                    "by": "server" if hub.closing.begun or self._ended else "peer",
                },
            )

    async def _tell(self, uris: Iterable[str], write: Write) -> None:
        """Tells what is heard beside resources."""
        if self._listening is None:
            return
        for uri in uris:
            if (message := await self._listening.message(uri)) is not None:
                await write(message)
        if (news := self._listening.news()) is not None:
            await write(news)

    @property
    def _ended(self) -> bool:
        # SR-7.3, for readers that see the state: a plain one would only open the stream again.
        readers = self._form.binding is not None and bool(self._filters) and not self._list_changed
        readers = readers and not self._heard_of
        return readers and not self._unsealed

    def _filter_for(self, uri: str) -> StreamFilter:
        """What was asked for a resource: by its own URI, else by the nearest that covers it (SR-7.2)."""
        if (own_filter := self._filters.get(uri)) is not None:
            return own_filter
        return next(self._filters[above] for above in reversed(covering(uri)) if above in self._filters)

    async def _look(self) -> dict[str, Head | None]:
        heads: dict[str, Head | None] = {}
        for uri in self._filters:
            try:
                heads[uri] = head = (await self._hub.store.entry(uri)).head
            except ResourceNotFound:
                heads[uri] = None  # SR-7.4: it can come later
            else:
                sent = self._sent.setdefault(uri, head.position)
                if sent == head.position:
                    if head.state != "open":
                        self._unsealed.discard(uri)
                elif _reaches(sent, head.position):
                    del self._sent[uri]  # a cursor beyond the head is none of ours: its reader is told the head
        return heads

    def _acknowledgement(
        self, heads: Mapping[str, Head | None], honoured: dict[str, object], streams: Iterable[str]
    ) -> bytes:
        if self._list_changed:
            honoured = {**honoured, "resourcesListChanged": True}
        states = {uri: messages.stream_state(uri, heads[uri], self._filters[uri].deliver) for uri in streams}
        return messages.acknowledged(self._request_id, honoured, states, self._form.binding)

    async def _catch_up(self, uri: str, head: Head, write: Write) -> None:
        deltas = self._filter_for(uri).deliver == "delta"
        sent = self._sent.get(uri)
        while not _reaches(sent, head.position):
            try:
                (before, after), reached = await self._hub.frame(uri, sent if deltas else None, head, self._form)
            except ResourceNotFound:
                return  # it was removed meanwhile; one that is made there again is marked anew
            await write(b"".join((before, self._id, after)))
            self._sent[uri] = sent = reached.position
            if reached.state != "open":
                self._unsealed.discard(uri)
            if sent is not head.position:
                # A long chain gives way to the other readers after each link (V4).
                await anyio.lowlevel.checkpoint()


def _reaches(sent: Position | None, head: Position) -> bool:
    """Whether a subscriber at `sent` has been told of `head`: cursors never go back (SR-6.2)."""
    if sent is head:
        return True
    if sent is None or sent.epoch != head.epoch:
        return False
    return (sent.revision, sent.length) >= (head.revision, head.length)
