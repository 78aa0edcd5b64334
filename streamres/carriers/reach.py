"""The reader half that carriers share: where the server is, one request, one stream, and the work's own clock."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpx2
import orjson

from streamres.errors import StreamresError
from streamres.protocol import words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

RECONNECT_S: Final = 0.5
"""Seconds of the work after which a reader tries again that lost its connection; the same for every carrier."""

_EVENT_BYTES: Final = 64 * 1024 * 1024
_CLIENT_INFO: Final = {"name": "compare", "version": "0.1.0"}


class Cut(StreamresError):
    """The connection was lost before the answer was whole."""


class Refused(StreamresError):
    """The server answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message")))
        self.code = error.get("code")
        self.data = error.get("data") or {}


class Sleep(Protocol):
    """Waits for so many seconds of the work, which are shorter or longer than those of the wall."""

    async def __call__(self, seconds: float, /) -> None:
        """Waits."""
        ...


class Reach:
    """How a reader reaches the server.

    `late` says that the reader came when the work was under way, begun by another client.
    """

    def __init__(self, url: str, http: httpx2.AsyncClient, sleep: Sleep, *, late: bool = False) -> None:
        self.url = url
        self.late = late
        self.sleep = sleep
        self._http = http
        self._ids = count(1)

    async def reconnect(self) -> None:
        """Waits before another try."""
        await self.sleep(RECONNECT_S)

    async def request(
        self, method: str, params: Mapping[str, Any], *, capabilities: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Gives the result of a request.

        Raises:
            Cut: none came.
            Refused: the server answered with an error.
        """
        headers, body = self._message(method, params, capabilities)
        try:
            response = await self._http.post(self.url, content=body, headers=headers)
        except httpx2.TransportError as exc:
            raise Cut(str(exc)) from exc
        return _result(orjson.loads(response.content))

    async def stream(
        self, method: str, params: Mapping[str, Any], *, capabilities: Mapping[str, Any] | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Gives each message that answers a request, the last of them with its `result`.

        Raises:
            Cut: the stream ended without it.
            Refused: the server answered with an error.
        """
        headers, body = self._message(method, params, capabilities)
        try:
            async with self._http.stream("POST", self.url, content=body, headers=headers) as response:
                if response.headers.get("content-type", "").startswith("application/json"):
                    yield {"result": _result(orjson.loads(await response.aread()))}
                    return
                async for event in httpx2.EventSource(response, max_event_size=_EVENT_BYTES):
                    message = orjson.loads(event.data)
                    if "method" not in message:  # nothing follows the result
                        yield {"result": _result(message)}
                        return
                    yield message
        except httpx2.TransportError as exc:
            raise Cut(str(exc)) from exc
        raise Cut("the stream ended without a result")

    def _message(
        self, method: str, params: Mapping[str, Any], capabilities: Mapping[str, Any] | None
    ) -> tuple[dict[str, str], bytes]:
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            words.VERSION_HEADER: words.VERSION,
            words.METHOD_HEADER: method,
        }
        if (named_by := words.NAMED_BY.get(method)) is not None:
            headers[words.NAME_HEADER] = str(params[named_by])
        meta = {
            words.VERSION_META: words.VERSION,
            words.CLIENT_INFO_META: _CLIENT_INFO,
            words.CAPABILITIES_META: capabilities or {},
            **params.get("_meta", {}),
        }
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": {**params, "_meta": meta}}
        return headers, orjson.dumps(message)


def _result(message: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in message:
        raise Refused(message["error"])
    result: dict[str, Any] = message["result"]
    return result
