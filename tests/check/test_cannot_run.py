"""Servers that cannot be checked are told apart; servers that break in the middle are findings, not tracebacks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from anyio.to_thread import run_sync
from cli.program import streamres
from client.loopback import listening
from client.lying import lying, raw_json, result
from mcp.server.mcpserver import MCPServer

from streamres import Limits
from streamres.check import CannotRun, Request, Waits, run
from streamres.check.report import lines
from streamres.transport import bind, origin_of, serving

if TYPE_CHECKING:
    from anyio.abc import SocketStream

WAITS = Waits(soon_s=0.5, quiet_s=0.05, hold_s=0.1, early_s=0.05, patience_s=0.1)

CUT = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"
SETTINGS = {"kinds": ["text"], "maxWaitMs": 1000, "maxBytes": 1000}
DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"resources": {}, "extensions": {"dev.streamres/streamable-resources": SETTINGS}},
    "ttlMs": 0,
    "cacheScope": "private",
}


async def said(url: str) -> str:
    with pytest.raises(CannotRun) as refused:
        await run(Request(url=url, waits=WAITS))
    return str(refused.value)


async def test_a_closed_port(free_port: int) -> None:
    done = await run_sync(streamres, "check", f"http://127.0.0.1:{free_port}")

    assert done.returncode == 2
    assert f"nothing answers at http://127.0.0.1:{free_port}/mcp".encode() in done.stderr
    assert done.stdout == b""


async def test_a_server_of_something_else() -> None:
    async with lying(lambda request: raw_json(b"<html>hello</html>")) as url:
        assert "does not answer as MCP 2026-07-28: no JSON-RPC response (HTTP status 200)" in await said(url)


async def test_a_server_of_an_older_mcp() -> None:
    def answer(request: dict[str, Any]) -> bytes:
        error = {"code": -32601, "message": "Method not found"}
        return raw_json(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode())

    async with lying(answer) as url:
        assert "does not answer as MCP 2026-07-28" in await said(url)


async def test_an_official_sdk_server_without_the_extension() -> None:
    server = MCPServer("plain")
    app = server.streamable_http_app()
    sock = bind("127.0.0.1", 0)
    async with server.session_manager.run(), serving(app, sock, close=lambda: None, limits=Limits()):
        done = await run_sync(streamres, "check", origin_of(sock))

    assert done.returncode == 2
    assert b"does not declare dev.streamres/streamable-resources in server/discover" in done.stderr


async def test_a_server_that_says_nothing() -> None:
    async with lying(lambda request: None) as url:
        assert "no answer within 0.5 s" in await said(url)


async def test_a_server_that_closes_every_connection_but_the_first_fails_and_nothing_is_raised() -> None:
    async def handle(stream: SocketStream) -> None:
        async with stream:
            request = (await stream.receive()).partition(b"\r\n\r\n")[2]
            if b"server/discover" in request:
                await stream.send(result(json.loads(request), DISCOVERED))
            else:
                await stream.send(CUT)

    async with listening(handle) as port:
        request = Request(url=f"http://127.0.0.1:{port}", uris=("build://7/log",), waits=WAITS)
        findings = {finding.clause: finding for finding in await run(request)}

    broken = findings["SR-5.1.a"]
    assert broken.status == "fail"
    assert "no whole answer: RemoteProtocolError" in broken.detail
    assert broken.exchanges[-1].status == 200
    assert any(broken.detail in line.plain for line in lines([broken]))
    assert findings["SR-10.7"].status == "pass"


async def test_a_run_that_fails_exits_with_one() -> None:
    def answer(request: dict[str, Any]) -> bytes:
        return result(request, {**DISCOVERED, "resources": []})

    async with lying(answer) as url:
        done = await run_sync(
            streamres, "check", url, "--only", "SR-10.2.b", "--only", "SR-10.7", "--uri", "a:b", "--upload", "none"
        )

    assert done.returncode == 1
    told = done.stdout.decode()
    assert "SR-10.7    pass" in told
    assert "fail" in told
    assert "    sent: {" in told
    assert "    answer: HTTP status 200" in told
