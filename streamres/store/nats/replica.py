"""All that the stream says, in memory: the state from which one server reads.

Every replica is given the same messages in the same order and makes the same of them, so a position means the same
in each (SR-4.2.a). All content is held in memory: a server needs as much as there is.
"""

from __future__ import annotations

import asyncio
import heapq
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Final

from streamres.errors import ResourceNotFound, StoreError
from streamres.store.nats.messages import Create, Remove, RollUp, decode
from streamres.store.nats.parts import Parts
from streamres.store.nats.resource import Resource
from streamres.store.watches import Watches

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamres.limits import Limits
    from streamres.model import Entry
    from streamres.store.nats.address import Address
    from streamres.store.nats.messages import Command, Message

OVERHEAD_BYTES: Final = 200
"""What the stream keeps of a message beside what it says: headers, subject, index."""


@dataclass(slots=True)
class Pending:
    """A message that was published, or will be; its place is right after `base`, and nowhere else."""

    op: str
    base: int
    counts: bool | None = None
    """Whether it has its place; None where the replica came past it without a look at it."""
    seq: int = 0
    """Its sequence number, if it counts."""
    decided: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the replica has come past its place."""


class Replica:
    """The resources of one stream up to the message `seq`."""

    def __init__(self, address: Address, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        self.seq = 0
        """The last message that was applied."""
        self.parts = Parts()
        self.watches = Watches()
        self.failure: StoreError | None = None
        """Why it cannot go on; what it has is of no use then."""
        self.pending: dict[str, Pending] = {}
        """By the URI, the message that is on its way from here."""
        self._address = address
        self._limits = limits
        self._clock = clock
        self._resources: dict[str, Resource] = {}
        self._order: list[tuple[int, str]] = []  # of those that are listed
        self._seqs: dict[str, int] = {}
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._counter = count()

    def __len__(self) -> int:
        return len(self._resources)

    def apply(self, subject: str, seq: int, at: float, raw: bytes) -> None:
        """Takes the next message in; `at` is the stream's time, in seconds.

        Raises:
            StoreError: the message does not follow what came before; the replica is of no use any more.
        """
        if self.failure is not None:
            raise self.failure
        try:
            if self._address.is_part(subject):
                self.parts.add(subject, seq, at, raw)
            else:
                self._apply(decode(raw), seq, at, len(raw))
        except Exception as exc:
            # Whatever it was: to go on without the message would be to answer with other content than the others.
            failure = exc if isinstance(exc, StoreError) else StoreError(f"message {seq} of the stream: {exc!r}")
            self.fail(failure)
            raise failure from exc
        self.seq = seq
        while self._waiting and self._waiting[0][0] <= seq:
            _, _, done = heapq.heappop(self._waiting)
            if not done.done():
                done.set_result(None)

    def fail(self, failure: StoreError) -> None:
        """Gives the replica up."""
        self.failure = failure
        for _, _, done in self._waiting:
            if not done.done():
                done.set_exception(failure)
        self._waiting.clear()

    async def wait(self, seq: int) -> None:
        """Returns once the message `seq` is applied.

        Raises:
            StoreError: the replica was given up.
        """
        if self.failure is not None:
            raise self.failure
        if self.seq < seq:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (seq, next(self._counter), done))
            await done

    def seq_of(self, uri: str) -> int:
        """Gives the last message about a resource, 0 where there is none."""
        return self._seqs.get(uri, 0)

    def find(self, uri: str) -> Resource | None:
        """Gives a resource, if it is there."""
        return self._resources.get(uri)

    def get(self, uri: str) -> Resource:
        """Gives a resource, with what is past keeping forgotten.

        Raises:
            ResourceNotFound: there is none.
            StoreError: the replica was given up.
        """
        if self.failure is not None:
            raise self.failure
        try:
            resource = self._resources[uri]
        except KeyError:
            raise ResourceNotFound(uri) from None
        self._forget(resource)
        return resource

    def list(self, after: str | None, limit: int) -> list[Entry]:
        """Gives resources in the order of their creation; see `Store.list`."""
        if self.failure is not None:
            raise self.failure
        begin = 0
        if after is not None:
            last = self._resources.get(after)
            begin = len(self._order) if last is None else bisect_right(self._order, (last.created, after))
        return [self._resources[uri].entry for _, uri in self._order[begin : begin + limit]]

    def _apply(self, message: Message, seq: int, at: float, size: int) -> None:
        uri, known = message.uri, self.seq_of(message.uri)
        if message.base != known and not message.stands_alone:
            raise StoreError(
                f"message {seq} of stream {self._address.stream} follows {message.base}, but the last here is"
                f" {known}: messages were removed from it. Begin another stream, or restore this one"
            )
        self._seqs[uri] = seq
        pieces = {ref.id: self.parts.take(ref, at) for ref in set(message.refs)}
        there = resource = self._resources.get(uri)
        before = None if there is None else there.log.head
        counts = None not in pieces.values()
        if counts:
            for command in message.resolved(lambda ref: pieces[ref.id] or b""):
                resource = self._made(command, resource, seq, stands=message.base == known)
            if resource is not None:
                size += OVERHEAD_BYTES + sum(len(piece) for piece in pieces.values() if piece)
                resource.split = bool(pieces) or (resource.split and not message.stands_alone)
                resource.stored = size if message.stands_alone else resource.stored + size
        if _place(there) != _place(resource):
            self.watches.mark_list()
        if resource is not None:
            resource.ops.append((message.base, message.op))
            self._forget(resource)
            if resource.log.head != before:
                self.watches.mark(uri, resource.log.head)
        self._settle(message, seq, resource, counts=counts, jumped=message.base != known)

    def _settle(
        self, message: Message, seq: int, resource: Resource | None, *, counts: bool, jumped: bool
    ) -> None:
        """Finds out what became of the message that is on its way from here."""
        pending = self.pending.get(message.uri)
        if pending is None or pending.decided.is_set():
            return
        if message.op == pending.op:
            pending.counts, pending.seq = counts, seq
        elif message.base == pending.base:
            pending.counts = False
        elif jumped:
            there = None if resource is None else dict(resource.ops).get(pending.base)
            pending.counts = None if there is None else there == pending.op
        else:
            return
        pending.decided.set()

    def _made(self, command: Command, resource: Resource | None, seq: int, *, stands: bool) -> Resource | None:
        match command:
            case Remove():
                if resource is not None:
                    self._drop(resource)
                return None
            case Create():
                made = Resource.made(command, seq, self._limits)
                self._add(made)
                return made
            case RollUp():
                if stands and resource is not None:
                    return resource  # it says what is known
                made = Resource.restored(command.state, self._limits)
                self._add(made)
                return made
            case _ if resource is not None:
                resource.apply(command)
                return resource
            case _:
                raise StoreError(f"message {seq} is about a resource that was not made")

    def _add(self, resource: Resource) -> None:
        uri = resource.description.uri
        if (before := self._resources.get(uri)) is not None:
            self._drop(before)  # where its removal was missed, it is in another place
        self._resources[uri] = resource
        if resource.description.listed:
            insort(self._order, (resource.created, uri))

    def _drop(self, resource: Resource) -> None:
        uri = resource.description.uri
        del self._resources[uri]
        if resource.description.listed:
            del self._order[bisect_left(self._order, (resource.created, uri))]

    def _forget(self, resource: Resource) -> None:
        if self._limits.history_bytes is not None or self._limits.history_s is not None:
            resource.retention.apply(resource.log, self._clock())


def _place(resource: Resource | None) -> int | None:
    """Where a resource is in lists; None where it is in none."""
    return resource.created if resource is not None and resource.description.listed else None
