"""OpenTelemetry spans of requests and appends, where `opentelemetry-api` is installed and a provider is set."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from streamres.server import Pending, Stream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from opentelemetry.trace import Span, Tracer

    from streamres.model import AppendNumber
    from streamres.protocol.jsonrpc import Request
    from streamres.server import LongReply, Outcome, Reply, Write

    Method = Callable[[Request], Awaitable[Outcome]]

TRACED: Final = frozenset({"resources/read", "subscriptions/listen"})


class Spans:
    """Makes the spans of one server."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def traced(self, name: str, method: Method) -> Method:
        """Gives the method with a span around it, to the end of its answer or of its stream.

        The span continues the trace that the request's `_meta` names (`traceparent`).
        """
        if name not in TRACED:
            return method
        from opentelemetry import propagate
        from opentelemetry.trace import SpanKind

        async def run(request: Request) -> Outcome:
            span = self._tracer.start_span(
                name,
                context=propagate.extract(_carrier(request.params)),
                kind=SpanKind.SERVER,
                attributes=_attributes(name, request.params),
            )
            with _within(span, ends=False):
                outcome = await method(request)
            match outcome:
                case Stream():
                    return Stream(lambda write: self._stream(span, outcome, write))
                case Pending():
                    return Pending(lambda: self._answer(span, outcome))
            span.end()
            return outcome

        return run

    def append(self, uri: str, data: bytes, number: AppendNumber | None) -> AbstractContextManager[Any]:
        """Gives the span of one append."""
        attributes: dict[str, str | int] = {"streamres.uri": uri, "streamres.bytes": len(data)}
        if number is not None:
            attributes |= {"streamres.producer": number.producer, "streamres.seq": number.seq}
        return self._tracer.start_as_current_span("streamres append", attributes=attributes)

    async def _stream(self, span: Span, stream: Stream, write: Write) -> None:
        with _within(span, ends=True):
            await stream.run(write)

    async def _answer(self, span: Span, pending: Pending) -> Reply | LongReply:
        with _within(span, ends=True):
            return await pending.answer()


@contextmanager
def _within(span: Span, *, ends: bool) -> Iterator[None]:
    """Makes a span the current one; it ends with an exception, and with the context where that `ends` it."""
    from opentelemetry.trace import use_span

    try:
        with use_span(span, end_on_exit=ends):
            yield
    except BaseException:
        if not ends:
            span.end()
        raise


def spans(version: str) -> Spans | None:
    """Gives what makes spans; None where the API is not installed, or no provider is set by now."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return Spans(provider.get_tracer("streamres", version))


def _carrier(params: Mapping[str, Any]) -> dict[str, str]:
    meta = params.get("_meta")
    items = meta.items() if isinstance(meta, dict) else ()
    return {name: value for name, value in items if isinstance(value, str)}


def _attributes(name: str, params: Mapping[str, Any]) -> dict[str, str]:
    uri = params.get("uri")
    return {"mcp.method.name": name, **({"mcp.resource.uri": uri} if isinstance(uri, str) else {})}
