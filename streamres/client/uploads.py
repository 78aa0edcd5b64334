"""The upload endpoint of a server, the client's side: one append, or where a resource and a producer stand."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import orjson

from streamres.client.connection import RETRYABLE_STATUS, Timeouts, endpoint, lost
from streamres.client.wire import rpc_error
from streamres.errors import ConnectionLost, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Busy(ConnectionLost):
    """The server has no room at the moment; `retry_after_s` is what it asks to wait at least."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a resource stands, and a producer of it; `epoch` is None where that never wrote."""

    revision: int = 0
    length: int = 0
    epoch: int | None = None
    next_seq: int = 0


class Uploads:
    """The endpoint beside the MCP endpoint at `url`."""

    def __init__(self, url: str) -> None:
        self.target = endpoint(url).join("upload")
        self._http = httpx2.AsyncClient(timeout=Timeouts().answering())

    async def close(self) -> None:
        """Closes every connection."""
        await self._http.aclose()

    async def append(self, query: Mapping[str, str], data: bytes) -> None:
        """Makes one append.

        Raises:
            ConnectionLost: no answer came, or none that lasts.
            RpcError: the server refuses it.
            ProtocolError: whatever answers there takes no uploads.
        """
        answer, status = await self._ask("POST", query, data)
        if "cursor" not in answer:
            raise ProtocolError(f"{self.target} takes no uploads (HTTP status {status})")

    async def standing(self, uri: str, producer: str) -> Standing | None:
        """Gives where a resource and a producer stand, of one that is not there the beginning; None if unknown.

        Raises: as `append`, but ProtocolError.
        """
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            answer, status = await self._ask("GET", {"uri": uri, "producer": producer}, None)
            if status == httpx2.codes.NOT_FOUND and answer:
                return Standing()
            known = answer.get("producer") or {"epoch": None, "seq": 0}
            if "length" in answer:
                return Standing(
                    revision=int(answer["revision"]),
                    length=int(answer["length"]),
                    epoch=known["epoch"],
                    next_seq=int(known["seq"]),
                )
        return None

    async def _ask(self, method: str, query: Mapping[str, str], data: bytes | None) -> tuple[dict[str, Any], int]:
        try:
            response = await self._http.request(method, self.target, params=dict(query), content=data)
        except httpx2.TransportError as exc:
            raise lost(self.target, exc) from exc
        status = response.status_code
        answer = _json(response)
        error = answer.get("error")
        if status in RETRYABLE_STATUS:
            why = f": {error['message']}" if isinstance(error, dict) and "message" in error else ""
            raise Busy(f"{self.target} answers with HTTP status {status}{why}", _retry_after_s(response))
        if isinstance(error, dict) and not (method == "GET" and status == httpx2.codes.NOT_FOUND):
            raise rpc_error(error, None)
        return answer, status


def _retry_after_s(response: httpx2.Response) -> float:
    """The seconds of `Retry-After`; a date there, which few servers send, counts as none."""
    value = response.headers.get("retry-after", "")
    return min(float(value), 60.0) if value.isascii() and value.isdigit() else 0.0


def _json(response: httpx2.Response) -> dict[str, Any]:
    try:
        answer = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}
