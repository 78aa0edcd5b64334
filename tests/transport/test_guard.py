"""Who may talk to the server: the names of `Host` and `Origin`, against DNS rebinding and foreign pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from server.wire import VERSION, http_client

from streamres import Server

from .raw import connected, head_of

if TYPE_CHECKING:
    from server.wire import Wire

BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
HEADERS = {"content-type": "application/json", "mcp-protocol-version": "2025-06-18"}


async def status_of(wire: Wire, headers: dict[str, str], path: str = "/mcp") -> int:
    async with connected(wire.url) as connection:
        await connection.send(head_of({**HEADERS, "content-length": str(len(BODY)), **headers}, path=path) + BODY)
        return (await connection.response()).status


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8765",
        "LOCALHOST",
        "127.0.0.1",
        "127.0.0.1:1",
        "192.168.1.7:80",
        "[::1]",
        "[::1]:8765",
    ],
)
async def test_localhost_and_addresses_are_this_server(wire: Wire, host: str) -> None:
    assert await status_of(wire, {"host": host}) == 200


@pytest.mark.parametrize(
    "host",
    [
        "rebound.example",
        "rebound.example:8765",
        "localhost.evil.example",
        "evil-localhost",
        "127.0.0.1.nip.io",
        "localhost.",
        "2130706433",
        "0x7f.1",
        "[::1",
        "",
    ],
)
async def test_any_other_name_is_refused(wire: Wire, host: str) -> None:
    assert await status_of(wire, {"host": host}) == 403


NEAR = ["http://localhost:3000", "https://localhost", "http://127.0.0.1:5173", "http://[::1]:80"]
FOREIGN = [
    "https://evil.example",
    "http://localhost.evil.example",
    "http://192.168.1.7",
    "null",
    "",
    "file://",
    "evil.example",
    "http://evil.example@localhost.example",
    "http://[::1",
]


@pytest.mark.parametrize("origin", NEAR)
async def test_a_page_of_this_machine_may_ask(wire: Wire, origin: str) -> None:
    assert await status_of(wire, {"host": "localhost", "origin": origin}) == 200


@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_foreign_page_may_not(wire: Wire, origin: str) -> None:
    assert await status_of(wire, {"host": "localhost", "origin": origin}) == 403


async def test_a_page_that_this_server_would_have_served_itself_may_ask(wire: Wire) -> None:
    assert await status_of(wire, {"host": "192.168.1.7:80", "origin": "http://192.168.1.7:80"}) == 200


async def test_a_refusal_after_a_passed_request_is_a_refusal_still(wire: Wire) -> None:
    passed, foreign = {"host": "localhost", "origin": NEAR[0]}, {"host": "localhost", "origin": FOREIGN[0]}

    statuses = [await status_of(wire, headers) for headers in (passed, foreign, passed, foreign)]

    assert statuses == [200, 403, 200, 403]


async def test_a_refusal_is_an_error_without_an_id(wire: Wire) -> None:
    response = await wire.post(BODY, {**HEADERS, "origin": "https://evil.example"})

    assert set(response.json()) == {"jsonrpc", "error"}
    assert response.json()["error"]["code"] == -32600


async def test_a_name_that_is_allowed_is_this_server_in_any_case_and_at_any_port() -> None:
    server = Server("tested")
    async with server.serve(port=0, allowed_hosts=["Build.Example"], upload=True) as url, http_client() as http:
        statuses = [
            (await http.post(url, content=BODY, headers={**HEADERS, "host": host})).status_code
            for host in ("build.example", "BUILD.example:99", "other.example")
        ]
        upload = await http.post(url.replace("/mcp", "/upload"), headers={"host": "other.example"})

    assert statuses == [200, 200, 403]
    assert upload.status_code == 403


async def test_the_version_in_use_is_the_newest(wire: Wire) -> None:
    assert (await wire.ask("server/discover")).result["supportedVersions"] == [VERSION]
