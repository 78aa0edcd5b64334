"""The numbers of one server, read from its parts when somebody asks: nothing here costs a request anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from streamres.observe.store import BUCKETS_S

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from streamres.observe.store import ObservedStore
    from streamres.server import Dispatcher
    from streamres.sources.inflight import InFlight
    from streamres.tools.calls import Calls
    from streamres.transport import HttpEndpoint


Values = Mapping[tuple[str, ...], float]
"""One value for each set of labels."""


@dataclass(frozen=True, slots=True)
class Number:
    """One number, or one for each value of its labels. `kind` is `counter` or `gauge`."""

    kind: str
    name: str
    help: str
    values: Values
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Times:
    """How many of something took how long: for each upper bound in seconds, those up to it."""

    name: str
    help: str
    upto: Mapping[str, int]
    seconds: float


@dataclass(slots=True)
class Numbers:
    """The parts of one server that have numbers; `dispatchers` are those that serve at the moment."""

    store: ObservedStore
    version: str
    dispatchers: Collection[Dispatcher] = ()
    endpoints: list[HttpEndpoint] = field(default_factory=list)
    uploads: list[InFlight] = field(default_factory=list)
    calls: Calls | None = None

    def read(self) -> Iterator[Number | Times]:
        """Gives all of them as they are now."""
        version: Values = {(self.version,): 1}
        yield Number("gauge", "streamres_build_info", "The version, as a label", version, ("version",))
        yield from self._requests()
        yield from self._writes()
        yield from self._uploads()
        if self.calls is not None:
            what = "Calls of tools that ended"
            yield Number("counter", "streamres_calls", what, self.calls.outcomes, ("tool", "outcome"))
            waiting: Values = {(): self.calls.under_way}
            yield Number("gauge", "streamres_calls_under_way", "Calls that have not, tasks too", waiting)

    def _requests(self) -> Iterator[Number]:
        outcomes: Counter[tuple[str, ...]] = Counter()
        subscriptions = behind = sessions = 0
        for dispatcher in self.dispatchers:
            outcomes.update(dispatcher.outcomes)
            followers = dispatcher.subscriptions.open
            subscriptions += len(followers)
            behind += sum(follower.behind for follower in followers)
            sessions += len(dispatcher.sessions)
        labels = ("method", "outcome")
        yield Number("counter", "streamres_requests", "Messages by method; ok, or the code", outcomes, labels)
        for name, what, value in (
            ("subscriptions", "Open streams of notifications", subscriptions),
            ("subscriptions_behind", "Of those, the ones that were not sent all there is", behind),
            ("sessions", "Sessions of the older versions over HTTP", sessions),
        ):
            yield Number("gauge", f"streamres_{name}", what, {(): value})
        moved: Values = {
            ("in",): sum(endpoint.bytes_in for endpoint in self.endpoints),
            ("out",): sum(endpoint.bytes_out for endpoint in self.endpoints),
        }
        what = "Bytes of HTTP bodies at the MCP endpoint"
        yield Number("counter", "streamres_mcp_bytes", what, moved, ("direction",))

    def _writes(self) -> Iterator[Number | Times]:
        store = self.store
        outcomes: Values = {("ok",): store.acknowledged, ("refused",): store.refused, ("failed",): store.failed}
        yield Number("counter", "streamres_appends", "Appends and replacements", outcomes, ("outcome",))
        content: Values = {(): store.content_bytes}
        yield Number("counter", "streamres_append_bytes", "Bytes that were acknowledged", content)
        bounds = [*(str(bound) for bound in BUCKETS_S), "+Inf"]
        upto = dict(zip(bounds, accumulate(store.by_time), strict=True))
        yield Times("streamres_append_seconds", "How long the store took to acknowledge", upto, store.seconds)

    def _uploads(self) -> Iterator[Number]:
        refused: Counter[tuple[str, ...]] = Counter()
        for uploads in self.uploads:
            refused.update({(reason,): count for reason, count in uploads.refused.items()})
        taken = sum(uploads.taken for uploads in self.uploads)
        waiting = sum(uploads.uploads for uploads in self.uploads)
        held = sum(uploads.held_bytes for uploads in self.uploads)
        dropped = sum(uploads.dropped_bytes for uploads in self.uploads)
        yield Number("counter", "streamres_uploads", "Uploads that were acknowledged", {(): taken})
        yield Number("counter", "streamres_uploads_refused", "Uploads that were not", refused, ("reason",))
        yield Number("gauge", "streamres_uploads_waiting", "Uploads read or waiting for the store", {(): waiting})
        yield Number("gauge", "streamres_uploads_waiting_bytes", "What those hold", {(): held})
        yield Number("counter", "streamres_dropped_bytes", "Bytes that producers left out", {(): dropped})
