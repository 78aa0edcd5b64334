"""The store that lives and dies with the process.

No lock: every method runs from start to end without giving way to another task (S1, S5), and a reading is a view
of content that only grows, so a reader that is slow holds up nobody (S4).
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from secrets import randbits
from time import monotonic
from typing import TYPE_CHECKING

from streamres.errors import LimitExceeded, ResourceExists, ResourceNotFound
from streamres.limits import Limits
from streamres.model import EPOCH_BITS, Entry, ResourceLog, Retention
from streamres.store.watches import Watches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from streamres.model import AppendNumber, Description, Head, Position, ProducerStanding, Reading, Seal
    from streamres.store.base import Watch


class MemoryStore:
    """Keeps every resource in this process; what is acknowledged lasts as long as the process does."""

    def __init__(self, limits: Limits | None = None, *, clock: Callable[[], float] = monotonic) -> None:
        self._limits = limits or Limits()
        self._clock = clock
        self._retentions: defaultdict[str, Retention] = defaultdict(lambda: Retention(self._limits))
        self._logs: dict[str, ResourceLog] = {}
        self._descriptions: dict[str, Description] = {}
        self._watches = Watches()

    async def create(self, description: Description, content: bytes = b"") -> Head:
        if description.uri in self._logs:
            raise ResourceExists(description.uri)
        self._check_size(content)
        return self._add(description, self._new_log(description, content))

    async def append(
        self,
        uri: str,
        data: bytes,
        *,
        seal: Seal | None = None,
        number: AppendNumber | None = None,
        expected_revision: int | None = None,
        expected_digest: str | None = None,
        create: Description | None = None,
        cause: str | None = None,
    ) -> Head:
        self._check_size(data)
        added = create if uri not in self._logs else None
        log = self._new_log(added) if added is not None else self._log(uri)
        if create is not None:
            log.demand(create.kind)
        before = log.head
        head = log.commit(
            data,
            seal=seal,
            number=number,
            expected_revision=expected_revision,
            expected_digest=expected_digest,
            cause=cause,
        )
        if added is not None:
            return self._add(added, log)
        if log.head is not before:
            self._mark(log)
        return head

    async def replace(self, uri: str, data: bytes) -> Head:
        log = self._log(uri)
        self._check_size(data)
        epoch = old = log.head.position.epoch
        while epoch == old:
            epoch = randbits(EPOCH_BITS)
        log.replace(data, epoch=epoch)
        return self._mark(log)

    async def compact(self, uri: str, floor: int) -> None:
        self._log(uri).compact(floor)

    async def remove(self, uri: str) -> None:
        self._log(uri)
        del self._logs[uri]
        self._retentions.pop(uri, None)
        if self._descriptions.pop(uri).listed:
            self._watches.mark_list()

    async def entry(self, uri: str) -> Entry:
        return Entry(head=self._log(uri).head, description=self._descriptions[uri])

    async def producer(self, uri: str, producer: str) -> ProducerStanding | None:
        return self._log(uri).producers.standing(producer)

    async def read(
        self,
        uri: str,
        since: Position | None = None,
        *,
        max_bytes: int | None = None,
        tail_bytes: int | None = None,
        append_op: bool = True,
    ) -> Reading:
        log = self._log(uri)
        self._forget(log)
        return log.read(since, max_bytes=max_bytes, tail_bytes=tail_bytes, append_op=append_op)

    async def list(self, *, after: str | None = None, limit: int) -> list[Entry]:
        every = iter(self._descriptions.values())
        if after is not None:
            for what in every:
                if what.uri == after:
                    break
        listed = (what for what in every if what.listed)
        return [Entry(head=self._logs[what.uri].head, description=what) for what in islice(listed, limit)]

    def watch(self, uris: Iterable[str], *, list_changed: bool = False) -> AbstractContextManager[Watch]:
        return self._watches.watch(uris, list_changed=list_changed)

    def _log(self, uri: str) -> ResourceLog:
        try:
            return self._logs[uri]
        except KeyError:
            raise ResourceNotFound(uri) from None

    def _check_size(self, data: bytes) -> None:
        if len(data) > self._limits.append_bytes:
            raise LimitExceeded("append_bytes", self._limits.append_bytes, "make several appends of it")

    def _new_log(self, what: Description, content: bytes = b"") -> ResourceLog:
        if len(self._logs) >= self._limits.resources:
            raise LimitExceeded("resources", self._limits.resources, "use a second server")
        epoch = randbits(EPOCH_BITS)
        return ResourceLog(what.uri, epoch=epoch, kind=what.kind, content=content, limits=self._limits)

    def _add(self, description: Description, log: ResourceLog) -> Head:
        self._logs[log.uri] = log
        self._descriptions[log.uri] = description
        if description.listed:
            self._watches.mark_list()
        return self._mark(log)

    def _forget(self, log: ResourceLog) -> None:
        if self._limits.history_bytes is not None or self._limits.history_s is not None:
            self._retentions[log.uri].apply(log, self._clock())

    def _mark(self, log: ResourceLog) -> Head:
        self._forget(log)
        self._watches.mark(log.uri, log.head)
        return log.head
