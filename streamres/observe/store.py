"""A store whose writes are counted and timed. Reads go to the store itself, at no cost."""

from __future__ import annotations

from bisect import bisect_left
from contextlib import nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Final

from streamres.errors import StoreError, StreamresError

if TYPE_CHECKING:
    from streamres.model import AppendNumber, Description, Head, Seal
    from streamres.observe.spans import Spans
    from streamres.store import Store

BUCKETS_S: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Upper bounds by which the time of a write is counted, in seconds; the last bucket has none."""


class ObservedStore:
    """Passes everything on to `store`; `spans` also shows each write where it is given."""

    def __init__(self, store: Store, spans: Spans | None = None) -> None:
        self._store = store
        self._spans = spans
        self.acknowledged = 0
        """Appends and replacements that were acknowledged, repeats too."""
        self.refused = 0
        """Those that broke a rule."""
        self.failed = 0
        """Those that the store could not keep."""
        self.content_bytes = 0
        """Bytes of what was acknowledged."""
        self.seconds = 0.0
        """Time in all that writes took."""
        self.by_time = [0] * (len(BUCKETS_S) + 1)
        """How many writes took how long, by `BUCKETS_S`."""
        self.create = store.create
        self.compact = store.compact
        self.remove = store.remove
        self.entry = store.entry
        self.producer = store.producer
        self.read = store.read
        self.list = store.list
        self.watch = store.watch

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
        """Appends; see `Store.append`."""
        begun = perf_counter()
        try:
            with nullcontext() if self._spans is None else self._spans.append(uri, data, number):
                head = await self._store.append(
                    uri,
                    data,
                    seal=seal,
                    number=number,
                    expected_revision=expected_revision,
                    expected_digest=expected_digest,
                    create=create,
                    cause=cause,
                )
        except StreamresError as exc:
            self._refuse(exc)
            raise
        self._acknowledge(data, begun)
        return head

    async def replace(self, uri: str, data: bytes) -> Head:
        """Replaces; see `Store.replace`."""
        begun = perf_counter()
        try:
            head = await self._store.replace(uri, data)
        except StreamresError as exc:
            self._refuse(exc)
            raise
        self._acknowledge(data, begun)
        return head

    def _acknowledge(self, data: bytes, begun: float) -> None:
        took = perf_counter() - begun
        self.acknowledged += 1
        self.content_bytes += len(data)
        self.seconds += took
        self.by_time[bisect_left(BUCKETS_S, took)] += 1

    def _refuse(self, exc: StreamresError) -> None:
        if isinstance(exc, StoreError):
            self.failed += 1
        else:
            self.refused += 1
