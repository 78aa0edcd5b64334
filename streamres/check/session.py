"""Raw MCP 2026-07-28 over HTTP: one POST a request, answered by JSON or by a stream of events.

Independent of the library's client by construction: what is right here is read from the specification again.
"""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2

from streamres.check.binding import EXTENSION
from streamres.check.exchange import Answer, Exchange, short
from streamres.check.finding import Broken
from streamres.check.limits import ANSWER_BYTES
from streamres.check.subscription import Subscription

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from streamres.check.limits import Waits

VERSION: Final = "2026-07-28"
JSON_RPC_HEADERS: Final[Mapping[str, str]] = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
_PLAIN: Final[Mapping[str, Any]] = {}


class NoServer(Exception):
    """Nothing there speaks HTTP; the text says what to do."""


class Session:
    """One server. Each request stands alone; `log` has every exchange since it was last emptied."""

    def __init__(self, url: httpx2.URL, waits: Waits, headers: Mapping[str, str] = _PLAIN) -> None:
        self.url = url
        self.waits = waits
        self.log: list[Exchange] = []
        self.http = httpx2.AsyncClient(
            headers=dict(headers),
            verify=True if url.scheme == "https" else _no_tls(),
            timeout=httpx2.Timeout(waits.soon_s, connect=waits.connect_s),
            limits=httpx2.Limits(max_connections=None),
        )
        self.ids = count(1)
        """The ids of requests."""

    async def close(self) -> None:
        """Closes every connection."""
        await self.http.aclose()

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        declared: Mapping[str, Any] | None = None,
        within_s: float | None = None,
    ) -> Answer:
        """Gives the answer to one request; `declared` are the settings of the extension, None for a plain client.

        Raises:
            Broken: no answer in time, or one that is not JSON-RPC.
        """
        message = self._message(method, params or {}, declared)
        exchange = await self.send(message, _headers(message), within_s=within_s)
        return answer_to(message["id"], exchange)

    async def send(
        self,
        message: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        *,
        http: str = "POST",
        within_s: float | None = None,
    ) -> Exchange:
        """Gives what one HTTP request is answered with, to its last message.

        Raises:
            Broken: no whole answer in time.
        """
        exchange = self._record(message if http == "POST" else {"http": f"{http} {self.url}", **headers})
        within_s = self.waits.soon_s if within_s is None else within_s
        try:
            with anyio.fail_after(within_s):
                await self._exchange(exchange, self._open(http, message, headers))
        except TimeoutError as exc:
            exchange.fault = "no answer in time"
            raise Broken(f"no answer within {within_s:g} s", exchange=exchange) from exc
        except httpx2.HTTPError as exc:
            exchange.fault = f"{type(exc).__name__}: {exc}"
            raise Broken(f"no whole answer: {exchange.fault}", exchange=exchange) from exc
        return exchange

    @asynccontextmanager
    async def listen(
        self, params: Mapping[str, Any], *, declared: Mapping[str, Any] | None = None
    ) -> AsyncIterator[Subscription]:
        """Gives one subscription; frames are read from the beginning, whether anyone asks for them or not."""
        message = self._message("subscriptions/listen", params, declared, prefix="listen-")
        async with self.stream(message, _headers(message), subscription_id=message["id"]) as subscription:
            yield subscription

    @asynccontextmanager
    async def stream(
        self,
        message: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        *,
        http: str = "POST",
        subscription_id: str | None = None,
    ) -> AsyncIterator[Subscription]:
        """Gives the messages of one HTTP answer as they come; with an id, each of them carries that."""
        exchange = self._record(message if http == "POST" else {"http": f"{http} {self.url}", **headers})
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            subscription = Subscription(exchange, subscription_id, self.waits)
            tasks.start_soon(self._pump, exchange, self._open(http, message, headers), subscription)
            try:
                yield subscription
            except Exception as exc:  # it comes out as it is, not in a group
                failure = exc
            tasks.cancel_scope.cancel()
        subscription.close()
        if failure is not None:
            raise failure

    async def upload(
        self, url: httpx2.URL, query: Mapping[str, str], body: bytes, *, method: str = "POST"
    ) -> Exchange:
        """Gives what a plain HTTP request is answered with: JSON, or text where it is none.

        Raises:
            Broken: no answer.
        """
        target = url.copy_merge_params(dict(query))
        exchange = self._record({"http": f"{method} {target}", "body": body.decode("utf-8", "backslashreplace")})
        try:
            response = await self.http.request(method, target, content=body)
        except httpx2.HTTPError as exc:
            exchange.fault = f"{type(exc).__name__}: {exc}"
            raise Broken(f"no whole answer: {exchange.fault}", exchange=exchange) from exc
        exchange.status = response.status_code
        exchange.got.append(_parsed(response.text))
        return exchange

    def _record(self, sent: object) -> Exchange:
        exchange = Exchange(sent=sent)
        self.log.append(exchange)
        return exchange

    def _message(
        self,
        method: str,
        params: Mapping[str, Any],
        declared: Mapping[str, Any] | None,
        *,
        prefix: str | None = None,
    ) -> dict[str, Any]:
        number = next(self.ids)
        capabilities = {} if declared is None else {"extensions": {EXTENSION: dict(declared)}}
        envelope = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "streamres check", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }
        return {
            "jsonrpc": "2.0",
            "id": number if prefix is None else f"{prefix}{number}",
            "method": method,
            "params": {**params, "_meta": {**envelope, **params.get("_meta", {})}},
        }

    def _open(
        self, http: str, message: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager[httpx2.Response]:
        body = None if message is None else json.dumps(message).encode()
        timeout = httpx2.Timeout(None, connect=self.waits.connect_s)
        return self.http.stream(http, self.url, content=body, headers=dict(headers), timeout=timeout)

    async def _exchange(self, exchange: Exchange, opening: AbstractAsyncContextManager[httpx2.Response]) -> None:
        async with opening as response:
            exchange.status = response.status_code
            exchange.session_id = response.headers.get("mcp-session-id")
            if not is_stream(response):
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > ANSWER_BYTES:
                        raise Broken(f"an answer of more than {ANSWER_BYTES} bytes", exchange=exchange)
                if body:
                    exchange.got.append(_parsed(body.decode("utf-8", "replace")))
                return
            async for event in httpx2.EventSource(response, ANSWER_BYTES):
                if event.data:
                    exchange.got.append(got := _parsed(event.data))
                    if isinstance(got, dict) and ("result" in got or "error" in got):
                        return

    async def _pump(
        self,
        exchange: Exchange,
        opening: AbstractAsyncContextManager[httpx2.Response],
        subscription: Subscription,
    ) -> None:
        try:
            async with opening as response:
                exchange.status = response.status_code
                if is_stream(response):
                    subscription.begin()
                    async for event in httpx2.EventSource(response, ANSWER_BYTES):
                        if event.data:
                            subscription.feed(_parsed(event.data))
                else:
                    await response.aread()
                    subscription.feed(_parsed(response.text))
        except httpx2.HTTPError as exc:
            exchange.fault = f"{type(exc).__name__}: {exc}"
        subscription.end()


def _headers(message: Mapping[str, Any]) -> dict[str, str]:
    headers = {**JSON_RPC_HEADERS, "mcp-protocol-version": VERSION, "mcp-method": message["method"]}
    if message["method"] == "resources/read":
        headers["mcp-name"] = _header(str(message["params"]["uri"]))
    return headers


def answer_to(request_id: object, exchange: Exchange) -> Answer:
    """Gives the response of an exchange.

    Raises:
        Broken: there is none, or not one to this request.
    """
    message = exchange.got[-1] if exchange.got else None
    if not isinstance(message, dict) or not ("result" in message or "error" in message):
        raise Broken(f"no JSON-RPC response (HTTP status {exchange.status}): {short(message)}", exchange=exchange)
    if "result" in message and message.get("id") != request_id:
        got = f"the response has the id {short(message.get('id'))}"
        raise Broken(got, clause="MCP-response-id", exchange=exchange)
    return Answer(exchange, message)


def is_stream(response: httpx2.Response) -> bool:
    """Says whether a response is a stream of events."""
    content_type: str = response.headers.get("content-type", "")
    return content_type.partition(";")[0].strip().lower() == "text/event-stream"


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _header(value: str) -> str:
    if value.isascii() and value.isprintable() and value == value.strip():
        return value
    return f"=?base64?{b64encode(value.encode()).decode()}?="


def _no_tls() -> ssl.SSLContext:
    # Nothing is verified where nothing is encrypted: the certificates of the machine need not be loaded.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
