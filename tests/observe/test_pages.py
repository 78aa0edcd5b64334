"""`/healthz` and `/metrics`: what they say, and to whom."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from cli.program import live
from prometheus_client.parser import text_string_to_metric_families
from server.wire import URI, Wire, http_client

from streamres import Limits, Producer, Server
from streamres.errors import StoreError
from streamres.model import Entry
from streamres.store import MemoryStore


@asynccontextmanager
async def observed(store: MemoryStore | None = None, limits: Limits | None = None) -> AsyncIterator[Wire]:
    server = Server("tested", store=store, limits=limits)
    await server.create(URI, name="log")
    serving = server.serve(port=0, upload=True, health=True, metrics=True)
    async with serving as url, http_client() as http:
        yield Wire(server, url, http)


async def page(wire: Wire, path: str, **headers: str) -> Any:  # noqa: ANN401
    return await wire.http.get(wire.url.replace("/mcp", path), headers=headers)


async def numbers(wire: Wire) -> dict[str, float]:
    """Each sample by its name and its labels, as Prometheus itself reads them."""
    response = await page(wire, "/metrics")
    assert response.status_code == 200
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


async def test_health_says_that_the_store_answers_and_which_version_it_is() -> None:
    async with observed() as wire:
        response = await page(wire, "/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok", "version": "0.1.0", "store": "ok"}


class FailingStore(MemoryStore):
    async def list(self, *, after: str | None = None, limit: int) -> list[Entry]:
        raise StoreError("the disk is gone")


class SilentStore(MemoryStore):
    async def list(self, *, after: str | None = None, limit: int) -> list[Entry]:
        await anyio.sleep_forever()
        raise AssertionError


@pytest.mark.parametrize(
    ("store", "trouble"), [(FailingStore(), "the disk is gone"), (SilentStore(), "no answer in 0 s")]
)
async def test_health_is_503_where_the_store_does_not_answer(
    store: MemoryStore, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamres.observe.endpoints.HEALTH_S", 0)
    async with observed(store) as wire:
        response = await page(wire, "/healthz")

    assert response.status_code == 503
    assert response.json() == {"status": "failing", "version": "0.1.0", "store": trouble}


async def test_requests_are_counted_by_method_and_outcome_and_unknown_methods_as_one() -> None:
    async with observed() as wire:
        await wire.read("fields")
        await wire.read("fields")
        await wire.read("fields", "no:where")
        for name in ("prompts/list", "x/y"):
            await wire.ask(name)
        await wire.post(b"{", {"content-type": "application/json"})
        seen = await numbers(wire)

    assert seen["streamres_requests_total resources/read ok"] == 2
    assert seen["streamres_requests_total resources/read -32602"] == 1
    assert seen["streamres_requests_total other -32601"] == 2
    assert seen["streamres_requests_total other -32700"] == 1
    assert seen["streamres_build_info 0.1.0"] == 1


async def test_bytes_are_those_of_the_bodies() -> None:
    async with observed() as wire:
        await wire.append("x" * 5_000)
        await wire.read("fields")
        seen = await numbers(wire)

    assert 5_000 < seen["streamres_mcp_bytes_total out"] < 6_000
    assert 100 < seen["streamres_mcp_bytes_total in"] < 1_000


async def test_appends_are_counted_and_timed_wherever_they_come_from() -> None:
    async with observed() as wire:
        resource = await wire.server.create("build://8/log")
        await resource.append("abc")
        url = wire.url.replace("/mcp", "/upload")
        await wire.http.post(url, params={"uri": URI}, content=b"defgh")
        await wire.http.put(url, params={"uri": URI}, content=b"ij")
        await wire.http.post(url, params={"uri": URI, "revision": 9}, content=b"x")
        seen = await numbers(wire)

    assert (seen["streamres_appends_total ok"], seen["streamres_appends_total refused"]) == (3, 1)
    assert seen["streamres_append_bytes_total"] == 10
    assert seen["streamres_append_seconds_count"] == seen["streamres_append_seconds_bucket +Inf"] == 3
    assert 0 < seen["streamres_append_seconds_sum"] < 5
    assert (seen["streamres_uploads_total"], seen["streamres_uploads_refused_total revision"]) == (2, 1)


async def test_subscriptions_sessions_and_those_behind_are_shown_while_they_last() -> None:
    async with observed() as wire:
        async with wire.listen("fields", {URI: {"deliver": "cursor"}}) as frames:
            await frames.next()
            seen = await numbers(wire)
            assert (seen["streamres_subscriptions"], seen["streamres_subscriptions_behind"]) == (1, 0)
        handshake = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": handshake}
        assert (await wire.http.post(wire.url, json=body)).status_code == 200
        seen = await numbers(wire)

    assert seen["streamres_sessions"] == 1
    assert seen["streamres_requests_total subscriptions/listen ok"] == 1


async def test_what_producers_left_out_is_counted() -> None:
    async with observed() as wire:
        async with Producer(wire.url, URI, buffer_bytes=1_000, on_full="drop-oldest") as producer:
            for _ in range(300):
                await producer.put(b"0123456789\n")
            await producer.flush()
            dropped = producer.dropped_bytes
        seen = await numbers(wire)

    assert seen["streamres_dropped_bytes_total"] == dropped > 0


async def test_calls_are_counted_by_tool_and_by_how_they_ended() -> None:
    async with observed() as wire:

        @wire.server.tool()
        async def work(fail: bool = False) -> str:
            if fail:
                raise ValueError
            return "done"

        for arguments in ({}, {"fail": True}, {"fail": True}):
            await wire.ask("tools/call", {"name": "work", "arguments": arguments})
        seen = await numbers(wire)

    assert (seen["streamres_calls_total ok work"], seen["streamres_calls_total error work"]) == (1, 2)
    assert seen["streamres_calls_under_way"] == 0
    assert seen["streamres_requests_total tools/call ok"] == 3


async def test_openmetrics_is_given_to_whoever_asks_for_it() -> None:
    async with observed() as wire:
        response = await page(wire, "/metrics", accept="application/openmetrics-text; version=1.0.0")

    assert response.headers["content-type"].startswith("application/openmetrics-text")
    assert response.text.endswith("# EOF\n")


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
async def test_a_page_is_for_the_same_hosts_as_the_server_and_for_reading(path: str) -> None:
    async with observed() as wire:
        assert (await page(wire, path, host="evil.example")).status_code == 403
        assert (await page(wire, path, origin="http://evil.example")).status_code == 403
        assert (await wire.http.post(wire.url.replace("/mcp", path))).status_code == 405


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
async def test_a_page_is_only_there_where_it_was_asked_for(path: str) -> None:
    async with Server("tested").serve(port=0) as url, http_client() as http:
        assert (await http.get(url.replace("/mcp", path))).status_code == 404


def test_without_the_library_the_page_says_how_to_get_it() -> None:
    code = """
import sys; sys.modules["prometheus_client"] = None
import anyio, httpx2
from streamres import Server
async def main():
    async with Server("tested").serve(port=0, metrics=True) as url, httpx2.AsyncClient() as http:
        answer = await http.get(url.replace("/mcp", "/metrics"))
        print(answer.status_code, answer.text)
anyio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.strip() == "404 metrics need prometheus-client: pip install 'streamres[metrics]'"


async def test_serve_has_both_on_its_port() -> None:
    with live("serve", "--port", "0", "--store", "memory:") as server:
        async with http_client() as http:
            health = await http.get(server.url.replace("/mcp", "/healthz"))
            metrics = await http.get(server.url.replace("/mcp", "/metrics"))

    assert (health.status_code, metrics.status_code) == (200, 200)
    assert "process_resident_memory_bytes" in metrics.text
