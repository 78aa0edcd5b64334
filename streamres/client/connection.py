"""JSON-RPC over Streamable HTTP, the client's side: one POST a request, answered by JSON or by a stream."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2

from streamres.client.eras import settle
from streamres.client.messages import MESSAGE_BYTES, about, is_answer, parse, result_of
from streamres.client.request import MODERN, PLAIN, Asking, Spoken, encode, notification
from streamres.errors import ConnectionLost, ProtocolError, TransportError
from streamres.protocol import words
from streamres.protocol.envelope import encode_header
from streamres.protocol.error_codes import UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long a client waits before it holds a connection for lost, in seconds."""

    connect_s: float = 5.0
    """For a connection to be made."""

    answer_s: float = 30.0
    """For an answer that is quiet, beyond what `waitMs` asks for."""

    quiet_s: float = 60.0
    """For a subscription that is quiet: servers ping every 15 s, so one that does not is gone."""

    call_s: float = 3_600.0
    """For a call of a tool that is quiet: a server need not say a word before it has the result."""

    lost_s: float = 30.0
    """For a server to come back that has a task of ours, which outlives the connection."""

    def answering(self, quiet_s: float | None = None) -> httpx2.Timeout:
        """Gives them for a request that may be answered after so many quiet seconds; None is `answer_s`."""
        return httpx2.Timeout(self.answer_s if quiet_s is None else quiet_s, connect=self.connect_s)

    def listening(self) -> httpx2.Timeout:
        """Gives them for a subscription."""
        return httpx2.Timeout(self.quiet_s, connect=self.connect_s)


RETRYABLE_STATUS: Final = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP statuses after which the same request may be answered."""

_PARTING_S: Final = 2.0
"""For the server to take note that a session of the older era is over."""


class Connection:
    """One server. Requests can overlap; each stands alone."""

    has_headers = True

    def __init__(self, url: str, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self.url = endpoint(url)
        # Each subscription keeps a connection: a pool with a bound would be used up by them, and stand still.
        self._http = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=None))
        self._ids = count(1)
        self._spoken: Spoken | None = None
        self._session: str | None = None
        self._settling = anyio.Lock()

    async def open(self) -> None:
        """Nothing: each request connects by itself."""

    async def close(self) -> None:
        """Closes every connection."""
        if self._session is not None and self._spoken is not None:
            with anyio.move_on_after(_PARTING_S, shield=True), suppress(httpx2.HTTPError):
                await self._http.delete(self.url, headers=self._headers(self._spoken))
        await self._http.aclose()

    async def settle(self) -> Spoken:
        """Gives what the server speaks; it is found out at the first use, and resources are read without.

        Raises:
            ConnectionLost: no answer came.
            ProtocolError, RpcError: it speaks nothing that is spoken here.
        """
        async with self._settling:
            if self._spoken is None:
                self._spoken = await settle(self)
        return self._spoken

    def unasked(self) -> AsyncIterator[dict[str, Any]] | None:
        """Gives what a server of the older era says unasked; None, since it would take a stream of its own."""
        return None

    async def request(self, method: str, params: Mapping[str, Any], *, wait_s: float = 0.0) -> dict[str, Any]:
        """Gives the result of one request; `wait_s` is how long the server was asked to wait.

        Raises:
            ConnectionLost: no answer came; the request may or may not have been served.
            ResourceNotFound, CursorInvalid, RpcError: the server refused.
            ProtocolError: the answer is none.
        """
        asking = Asking(quiet_s=self._timeouts.answer_s + wait_s)
        return result_of(await self.exchange(method, params, asking), params)

    async def exchange(
        self, method: str, params: Mapping[str, Any], asking: Asking = PLAIN, *, spoken: Spoken | None = None
    ) -> dict[str, Any]:
        """Gives the message that answers one request, result or error; `spoken` is for finding out what is.

        Raises:
            ConnectionLost: no answer came; the request may or may not have been served.
            ProtocolError: the answer is none.
        """
        timeout = self._timeouts.answering(asking.quiet_s)
        async with self._post(method, params, timeout, asking, spoken) as (response, request_id):
            if not _is_stream(response):
                return await _whole(response)
            async for message in _messages(response):
                if is_answer(message):
                    return message
                if asking.hear is not None and about(message) in (request_id, None):
                    await asking.hear(message)
            raise ConnectionLost("the stream ended without an answer")

    async def _cancelled(self, request_id: int, spoken: Spoken) -> None:
        """Tells a server of the older era, to which the end of a stream means nothing."""
        with anyio.move_on_after(_PARTING_S, shield=True), suppress(ConnectionLost):
            await self.notify(words.CANCELLED, {"requestId": request_id}, spoken=spoken)

    @asynccontextmanager
    async def stream(self, method: str, params: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """Gives the messages that answer one request, its result last.

        Raises: as `request`; within the iteration, ConnectionLost when the stream ends without its result.
        """
        async with self._post(method, params, self._timeouts.listening(), PLAIN, None) as (response, _):
            if not _is_stream(response):
                result_of(await _whole(response), params)
                raise ProtocolError(f"{method} was answered without a stream")
            yield _to_the_end(response, params)

    async def notify(self, method: str, params: Mapping[str, Any], *, spoken: Spoken) -> None:
        """Sends a notification, which only the older era has over HTTP.

        Raises:
            ConnectionLost: it was not taken.
        """
        try:
            body = notification(method, params)
            response = await self._http.post(self.url, content=body, headers=self._headers(spoken))
        except httpx2.TransportError as exc:
            raise lost(self.url, exc) from exc
        if response.is_error:
            raise ConnectionLost(f"{self.url} answers with HTTP status {response.status_code}")

    def _headers(self, spoken: Spoken) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            words.VERSION_HEADER: spoken.version,
        }
        if spoken.is_legacy and self._session is not None:
            headers[words.SESSION_HEADER] = self._session
        return headers

    @asynccontextmanager
    async def _post(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout: httpx2.Timeout,
        asking: Asking,
        spoken: Spoken | None,
    ) -> AsyncIterator[tuple[httpx2.Response, int]]:
        spoken = spoken or self._spoken or MODERN
        headers = self._headers(spoken)
        if not spoken.is_legacy:
            headers |= {words.METHOD_HEADER: method, **asking.headers}
            if (named_by := words.NAMED_BY.get(method)) is not None:
                headers[words.NAME_HEADER] = encode_header(str(params[named_by]))
        elif method == words.INITIALIZE:
            del headers[words.VERSION_HEADER]
        try:
            for tries_left in (1, 0):
                request_id = next(self._ids)
                body = encode(request_id, method, params, asking, spoken)
                async with self._http.stream(
                    "POST", self.url, content=body, headers=headers, timeout=timeout
                ) as response:
                    if response.status_code in RETRYABLE_STATUS:
                        raise ConnectionLost(f"{self.url} answers with HTTP status {response.status_code}")
                    if tries_left and await _serves_version_after_all(response):
                        continue
                    if method == words.INITIALIZE:
                        self._session = response.headers.get(words.SESSION_HEADER)
                    elif words.SESSION_HEADER in headers and response.status_code == httpx2.codes.NOT_FOUND:
                        self._spoken = self._session = None
                        raise ConnectionLost(f"{self.url} has ended the session; the next request begins another")
                    yield response, request_id
                    return
        except anyio.get_cancelled_exc_class():
            if spoken.is_legacy and method != words.INITIALIZE:
                await self._cancelled(request_id, spoken)
            raise
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
    match await _whole(response):
        case {"error": {"code": code, "data": {"supported": [*supported]}}}:
            return code == UNSUPPORTED_VERSION and words.VERSION in supported
        case _:
            return False


async def _to_the_end(response: httpx2.Response, params: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
    async for message in _messages(response):
        if is_answer(message):
            result_of(message, params)
            return
        yield message
    raise ConnectionLost("the stream was cut")


async def _messages(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    async for event in httpx2.EventSource(response, max_event_size=MESSAGE_BYTES):
        if event.data:  # else a keep-alive of some kind
            yield parse(event.data, f"HTTP status {response.status_code}")


async def _whole(response: httpx2.Response) -> dict[str, Any]:
    return parse(await response.aread(), f"HTTP status {response.status_code}")
