"""Section 10, older versions of MCP: what is pushed to a client that has a session (SR-10.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from streamres.check.answers import update_of
from streamres.check.exchange import short
from streamres.check.finding import NotOffered, demand
from streamres.check.registry import clause
from streamres.check.session import JSON_RPC_HEADERS
from streamres.check.subscription import UPDATED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from streamres.check.answers import Update
    from streamres.check.bench import Bench
    from streamres.check.exchange import Exchange
    from streamres.check.subscription import Subscription

OLDER: Final = "2025-06-18"


class OlderClient:
    """A client of an older version, with the session that the server gave it."""

    def __init__(self, bench: Bench) -> None:
        self._session = bench.session
        self._headers = {**JSON_RPC_HEADERS, "mcp-protocol-version": OLDER}

    async def initialize(self) -> dict[str, Any]:
        """Gives the capabilities.

        Raises:
            NotOffered: the server speaks no older version.
        """
        info = {"name": "streamres check", "version": "1"}
        params = {"protocolVersion": OLDER, "capabilities": {}, "clientInfo": info}
        exchange = await self._post("initialize", params, JSON_RPC_HEADERS)
        answer = exchange.got[-1] if exchange.got else None
        result = answer.get("result") if isinstance(answer, dict) else None
        if not isinstance(result, dict) or not isinstance(result.get("capabilities"), dict):
            raise NotOffered("the server speaks no older version of MCP")
        if exchange.session_id is not None:
            self._headers["mcp-session-id"] = exchange.session_id
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self._session.send(initialized, self._headers)
        capabilities: dict[str, Any] = result["capabilities"]
        return capabilities

    async def subscribing(self) -> OlderClient:
        """Gives itself, initialized.

        Raises:
            NotOffered: the server pushes nothing to older versions.
        """
        capabilities = await self.initialize()
        resources = capabilities.get("resources")
        if not isinstance(resources, dict) or resources.get("subscribe") is not True:
            raise NotOffered("the server offers no `subscribe` to older versions")
        return self

    async def ask(self, method: str, params: dict[str, Any], *, session_id: str | None = None) -> Exchange:
        """Gives what a request is answered with, in this session or another."""
        headers = self._headers if session_id is None else {**self._headers, "mcp-session-id": session_id}
        return await self._post(method, params, headers)

    async def end(self) -> Exchange:
        """Ends the session."""
        return await self._session.send(None, self._headers, http="DELETE")

    def stream(self) -> AbstractAsyncContextManager[Subscription]:
        """Gives the stream of the session."""
        headers = {**self._headers, "accept": "text/event-stream"}
        return self._session.stream(None, headers, http="GET")

    async def _post(self, method: str, params: dict[str, Any], headers: Mapping[str, str]) -> Exchange:
        message = {"jsonrpc": "2.0", "id": next(self._session.ids), "method": method, "params": params}
        return await self._session.send(message, headers)


@clause("SR-10.9.a", "SR-10.9.b", bindings=("meta",))
async def what_is_offered_to_older_clients_is_pushed_with_its_cursor(bench: Bench) -> None:
    client = await OlderClient(bench).subscribing()
    history = await bench.fresh(1)
    async with client.stream() as stream:
        await stream.begun()
        await _subscribe(client, history.uri)
        await bench.grow(history)
        update = await _update(bench, stream, "SR-10.9.a")
        got = "a delta, for which nobody asked"
        demand(not update.is_delta, got, clause="SR-10.9.b", exchange=stream.exchange)
        got = f"told of {update.uri} at {update.cursor}, it stands at {history.head.cursor}"
        right = update.uri == history.uri and (update.cursor == history.head.cursor or not history.made)
        demand(right, got, clause="SR-10.9.b", exchange=stream.exchange)
    await client.end()


@clause("SR-10.9.c", bindings=("meta",), every_kind=False)
async def a_new_stream_tells_what_changed_since_the_subscription(bench: Bench) -> None:
    client = await OlderClient(bench).subscribing()
    history = await bench.fresh(1)
    await _subscribe(client, history.uri)
    await bench.grow(history)
    for what in ("the first stream", "a second stream"):
        async with client.stream() as stream:
            await stream.begun()
            update = await _update(bench, stream, None)
            right = update.uri == history.uri and (update.cursor == history.head.cursor or not history.made)
            demand(right, f"{what} tells {update.uri} at {update.cursor}", exchange=stream.exchange)
    await client.end()


@clause("SR-10.9.d", bindings=("meta",), every_kind=False)
async def a_session_that_is_not_there_is_answered_with_404(bench: Bench) -> None:
    client = await OlderClient(bench).subscribing()
    ended = await client.end()
    if ended.status == 405:
        raise NotOffered("the server ends no session by DELETE")
    for session_id in (None, "no-such-session"):
        for method, params in (("ping", {}), ("resources/list", {}), ("resources/read", {"uri": "a:b"})):
            exchange = await client.ask(method, params, session_id=session_id)
            what = "that ended" if session_id is None else "that is unknown"
            got = f"{method} in a session {what}: HTTP status {exchange.status} {short(exchange.got)}"
            demand(exchange.status == 404, got, exchange=exchange)


async def _subscribe(client: OlderClient, uri: str) -> None:
    exchange = await client.ask("resources/subscribe", {"uri": uri})
    answer = exchange.got[-1] if exchange.got else None
    taken = isinstance(answer, dict) and "result" in answer
    got = f"`subscribe` is offered, and refused: {short(answer)}"
    demand(taken, got, clause="SR-10.9.a", exchange=exchange)


async def _update(bench: Bench, stream: Subscription, of: str | None) -> Update:
    message = await stream.due("an update", of)
    while message.get("method") != UPDATED:  # these clients are told of the list too, unasked
        message = await stream.due("an update", of)
    return update_of(message, bench.binding, bench.kind, stream.exchange, clause="SR-10.9.b")
