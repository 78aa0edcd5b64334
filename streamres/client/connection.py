"""JSON-RPC over Streamable HTTP, the client's side: one POST a request, answered by JSON or by a stream."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import httpx2
import orjson

from streamres.client.wire import rpc_error
from streamres.errors import ConnectionLost, DeltaError, LimitExceeded, ProtocolError, TransportError
from streamres.model.json_value import parse_json
from streamres.model.reassembler import READER
from streamres.protocol import words
from streamres.protocol.envelope import encode_header
from streamres.protocol.error_codes import UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from streamres.model.json_value import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long a client waits before it holds a connection for lost, in seconds."""

    connect_s: float = 5.0
    """For a connection to be made."""

    answer_s: float = 30.0
    """For an answer that is quiet, beyond what `waitMs` asks for."""

    quiet_s: float = 60.0
    """For a subscription that is quiet: servers ping every 15 s, so one that does not is gone."""

    def answering(self, wait_s: float = 0.0) -> httpx2.Timeout:
        """Gives them for a request that the server was asked to hold for `wait_s`."""
        return httpx2.Timeout(self.answer_s + wait_s, connect=self.connect_s)

    def listening(self) -> httpx2.Timeout:
        """Gives them for a subscription."""
        return httpx2.Timeout(self.quiet_s, connect=self.connect_s)


RETRYABLE_STATUS: Final = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP statuses after which the same request may be answered."""

_LEVELS: Final = 8
"""At least those of a message around the value of an operation in its patch."""


class Connection:
    """One server. Requests can overlap; each stands alone."""

    def __init__(self, url: str, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self.url = endpoint(url)
        # Each subscription keeps a connection: a pool with a bound would be used up by them, and stand still.
        self._http = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=None))
        self._ids = count(1)
        self._meta = {
            words.VERSION_META: words.VERSION,
            words.CLIENT_INFO_META: {"name": "streamres", "version": version("streamres")},
            words.CAPABILITIES_META: {
                "extensions": {words.EXTENSION: {"binding": "fields", "patchOps": ["append"]}}
            },
        }

    async def close(self) -> None:
        """Closes every connection."""
        await self._http.aclose()

    async def request(self, method: str, params: Mapping[str, Any], *, wait_s: float = 0.0) -> dict[str, Any]:
        """Gives the result of one request; `wait_s` is how long the server was asked to wait.

        Raises:
            ConnectionLost: no answer came; the request may or may not have been served.
            ResourceNotFound, CursorInvalid, RpcError: the server refused.
            ProtocolError: the answer is none.
        """
        async with self._post(method, params, self._timeouts.answering(wait_s)) as response:
            if _is_stream(response):
                async for message in _messages(response):
                    if "result" in message or "error" in message:
                        return _result(message, params)
                raise ConnectionLost("the stream ended without an answer")
            return _result(_message(await response.aread(), response.status_code), params)

    @asynccontextmanager
    async def stream(self, method: str, params: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """Gives the messages that answer one request, its result last.

        Raises: as `request`; within the iteration, ConnectionLost when the stream ends without its result.
        """
        async with self._post(method, params, self._timeouts.listening()) as response:
            if not _is_stream(response):
                _result(_message(await response.aread(), response.status_code), params)
                raise ProtocolError(f"{method} was answered without a stream")
            yield _to_the_end(response, params)

    @asynccontextmanager
    async def _post(
        self, method: str, params: Mapping[str, Any], timeout: httpx2.Timeout
    ) -> AsyncIterator[httpx2.Response]:
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            words.VERSION_HEADER: words.VERSION,
            words.METHOD_HEADER: method,
        }
        if (named_by := words.NAMED_BY.get(method)) is not None:
            headers[words.NAME_HEADER] = encode_header(str(params[named_by]))
        try:
            for tries_left in (1, 0):
                message = {
                    "jsonrpc": "2.0",
                    "id": next(self._ids),
                    "method": method,
                    "params": {**params, "_meta": self._meta},
                }
                async with self._http.stream(
                    "POST", self.url, content=orjson.dumps(message), headers=headers, timeout=timeout
                ) as response:
                    if response.status_code in RETRYABLE_STATUS:
                        raise ConnectionLost(f"{self.url} answers with HTTP status {response.status_code}")
                    if tries_left and await _serves_version_after_all(response):
                        continue
                    yield response
                    return
        except httpx2.TransportError as exc:
            raise lost(self.url, exc) from exc
        except httpx2.HTTPError as exc:
            raise ProtocolError(f"{self.url}: {str(exc) or type(exc).__name__}") from exc


def endpoint(url: str) -> httpx2.URL:
    """Gives the MCP endpoint that a URL means: itself, or `/mcp` where it has no path.

    Raises:
        TransportError: it is no http or https URL.
    """
    try:
        target = httpx2.URL(url)
    except httpx2.InvalidURL as exc:
        raise TransportError(f"{url!r} is not a URL: {exc}") from exc
    if target.scheme not in ("http", "https") or not target.host:
        raise TransportError(f"{url!r} is not an http URL; it looks like http://127.0.0.1:8765/mcp")
    return target if target.path not in ("", "/") else target.copy_with(path="/mcp")


def lost(url: httpx2.URL, exc: httpx2.TransportError) -> ConnectionLost:
    """Gives what a fault of the network means to a person."""
    match exc:
        case httpx2.ConnectError():
            return ConnectionLost(f"nothing answers at {url}")
        case httpx2.TimeoutException():
            return ConnectionLost(f"{url} gives no answer in time")
        case _:
            return ConnectionLost(f"the connection to {url} was lost ({str(exc) or type(exc).__name__})")


def _is_stream(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream"


async def _serves_version_after_all(response: httpx2.Response) -> bool:
    """Whether it refuses our version and yet names it, as one of two replicas may do in an upgrade."""
    if response.status_code != httpx2.codes.BAD_REQUEST or _is_stream(response):
        return False
    match _message(await response.aread(), response.status_code):
        case {"error": {"code": code, "data": {"supported": [*supported]}}}:
            return code == UNSUPPORTED_VERSION and words.VERSION in supported
        case _:
            return False


async def _to_the_end(response: httpx2.Response, params: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
    async for message in _messages(response):
        if "result" in message or "error" in message:
            _result(message, params)
            return
        yield message
    raise ConnectionLost("the stream was cut")


async def _messages(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    async for event in httpx2.EventSource(response):
        if event.data:  # else a keep-alive of some kind
            yield _message(event.data, response.status_code)


def _message(data: bytes | str, status: int) -> dict[str, Any]:
    data = data if isinstance(data, bytes) else data.encode("utf-8")
    try:
        # Where there may be a patch, by a parser that keeps every number and refuses what it cannot keep.
        message = _with_patch(data) if b'"patch"' in data else orjson.loads(data)
    except (ValueError, DeltaError, LimitExceeded) as exc:
        raise ProtocolError(f"the server's answer is not MCP (HTTP status {status}): {exc}") from exc
    if not isinstance(message, dict):
        raise ProtocolError("the server's answer is not a JSON-RPC message")
    return message


def _with_patch(data: bytes) -> JsonValue:
    return parse_json(data, max_depth=READER.json_depth, around=_LEVELS)


def _result(message: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    uri = params.get("uri")
    if isinstance(error := message.get("error"), dict):
        raise rpc_error(error, uri if isinstance(uri, str) else None)
    if not isinstance(result := message.get("result"), dict):
        raise ProtocolError("the server's answer has neither result nor error")
    return result
