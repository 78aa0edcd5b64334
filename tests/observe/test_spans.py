"""Spans of reads, subscriptions and appends, as a real provider of OpenTelemetry gets them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from server.wire import NOWHERE, URI, envelope, serving

from streamres.observe import spans

PARENT = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter
    provider.shutdown()


def by_name(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name == name]


async def test_a_read_is_a_span_of_the_trace_that_its_client_names(made: InMemorySpanExporter) -> None:
    async with serving() as wire:
        await wire.ask("resources/read", {"uri": URI, "_meta": {"traceparent": PARENT}})

    (span,) = by_name(made, "resources/read")
    assert span.kind is SpanKind.SERVER
    assert span.attributes == {"mcp.method.name": "resources/read", "mcp.resource.uri": URI}
    assert span.parent is not None
    assert trace.format_trace_id(span.parent.trace_id) == PARENT.split("-")[1]


async def test_a_read_that_waits_is_a_span_until_its_answer(made: InMemorySpanExporter) -> None:
    async with serving() as wire:
        answer = await wire.read("fields", since=await wire.cursor(), waitMs=1)

    assert answer.status == 200
    assert len(by_name(made, "resources/read")) == 2


async def test_a_read_that_is_refused_is_a_span_with_the_error(made: InMemorySpanExporter) -> None:
    async with serving() as wire:
        await wire.ask("resources/read", {"uri": NOWHERE})

    (span,) = by_name(made, "resources/read")
    assert span.status.status_code is StatusCode.ERROR
    assert [event.name for event in span.events] == ["exception"]


async def test_a_subscription_is_a_span_as_long_as_it_lasts(made: InMemorySpanExporter) -> None:
    async with (
        serving() as wire,
        wire.raw_listen({"notifications": {"resourceSubscriptions": [URI]}, "_meta": envelope()}) as frames,
    ):
        await frames.next()
        assert by_name(made, "subscriptions/listen") == []

    assert len(by_name(made, "subscriptions/listen")) == 1


async def test_an_append_is_a_span_with_its_number(made: InMemorySpanExporter) -> None:
    async with serving(upload=True) as wire:
        query = {"uri": URI, "producer": "ci", "epoch": 0, "seq": 0}
        await wire.http.post(wire.url.replace("/mcp", "/upload"), params=query, content=b"abc")

    (span,) = by_name(made, "streamres append")
    assert span.attributes == {
        "streamres.uri": URI,
        "streamres.bytes": 3,
        "streamres.producer": "ci",
        "streamres.seq": 0,
    }


def test_without_a_provider_there_are_no_spans() -> None:
    assert spans("1") is None
