"""`/healthz` and `/metrics`, for the same hosts as everything else of the server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

import anyio
import orjson
from starlette.responses import Response

from streamres.errors import StreamresError
from streamres.observe.numbers import Times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import Receive, Scope, Send

    from streamres.observe.numbers import Numbers
    from streamres.store import Store
    from streamres.transport import Guard

HEALTH_PATH: Final = "/healthz"
METRICS_PATH: Final = "/metrics"

HEALTH_S: Final = 2.0
"""Seconds that the store has to answer: probes give up after a few."""

_NO_METRICS: Final = "metrics need prometheus-client: pip install 'streamres[metrics]'\n"


class _Endpoint(ABC):
    """One page, to whoever may talk to the server."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Gives the page (ASGI 3)."""
        headers = dict(scope["headers"])
        refusal = self._guard.refusal(headers.get(b"host"), headers.get(b"origin"))
        response = Response(f"{refusal}\n", 403) if refusal is not None else await self._page(headers)
        await response(scope, receive, send)

    @abstractmethod
    async def _page(self, headers: dict[bytes, bytes]) -> Response: ...


class Health(_Endpoint):
    """Says whether the store answers: 200 where it does, 503 where not; and the version."""

    def __init__(self, store: Store, version: str, guard: Guard) -> None:
        super().__init__(guard)
        self._store = store
        self._version = version

    async def _page(self, headers: dict[bytes, bytes]) -> Response:  # noqa: ARG002
        trouble: str | None = f"no answer in {HEALTH_S:g} s"
        with anyio.move_on_after(HEALTH_S):
            try:
                await self._store.list(limit=1)
                trouble = None
            except StreamresError as exc:
                trouble = str(exc)
        answer = {
            "status": "ok" if trouble is None else "failing",
            "version": self._version,
            "store": trouble or "ok",
        }
        status = 200 if trouble is None else 503
        return Response(orjson.dumps(answer), status, {"cache-control": "no-store"}, "application/json")


class Metrics(_Endpoint):
    """Gives the numbers in the form of Prometheus, or of OpenMetrics to whoever asks for that."""

    def __init__(self, numbers: Numbers, guard: Guard) -> None:
        super().__init__(guard)
        self._encode = _encoder(numbers)

    async def _page(self, headers: dict[bytes, bytes]) -> Response:
        if self._encode is None:
            return Response(_NO_METRICS, 404, media_type="text/plain")
        body, media_type = self._encode(headers.get(b"accept", b"").decode("latin-1"))
        return Response(body, 200, {"content-type": media_type})


def _encoder(numbers: Numbers) -> Callable[[str], tuple[bytes, str]] | None:
    try:
        from prometheus_client import CollectorRegistry, ProcessCollector
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
        from prometheus_client.exposition import choose_encoder
    except ImportError:
        return None

    class Collector:
        def collect(self) -> Iterator[Any]:
            for number in numbers.read():
                if isinstance(number, Times):
                    times = HistogramMetricFamily(number.name, number.help)
                    times.add_metric([], list(number.upto.items()), number.seconds)
                    yield times
                else:
                    made = CounterMetricFamily if number.kind == "counter" else GaugeMetricFamily
                    family = made(number.name, number.help, labels=number.labels)
                    for labels, value in number.values.items():
                        family.add_metric(labels, value)
                    yield family

    registry = CollectorRegistry()
    registry.register(Collector())
    ProcessCollector(registry=registry)

    def encode(accept: str) -> tuple[bytes, str]:
        generate, media_type = choose_encoder(accept)
        return generate(registry), media_type

    return encode
