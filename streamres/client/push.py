"""Appends to a resource of a server elsewhere, each one once, whatever the network does (SR-9)."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

import httpx2
import orjson

from streamres.client.backoff import Backoff
from streamres.client.connection import RETRYABLE_STATUS, Timeouts, endpoint, lost
from streamres.client.wire import rpc_error
from streamres.errors import ConnectionLost, ProtocolError
from streamres.model import Utf8Decoder
from streamres.model.json_value import encode_given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from streamres.client.backoff import FaultHook
    from streamres.model import Kind, Seal


class Producer:
    """One producer of one resource at `url`, the MCP endpoint of a server that takes uploads.

    Its appends are numbered, so one that is sent again after a fault is not made twice. Use it as an async
    context manager.
    """

    def __init__(self, url: str, uri: str, *, kind: Kind = "text", on_fault: FaultHook | None = None) -> None:
        self.uri = uri
        self.kind = kind
        self._target = endpoint(url).join("upload")
        self._http = httpx2.AsyncClient(timeout=Timeouts().answering())
        self._number = {"producer": token_hex(8), "epoch": "0"}
        self._seq = 0
        self._decoder = Utf8Decoder()
        self._on_fault = on_fault

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    @property
    def replaced_bytes(self) -> int:
        """Bytes that were not UTF-8 and stand as U+FFFD (SR-2.1)."""
        return self._decoder.replaced

    async def append(self, data: bytes) -> None:
        """Adds bytes, and tries until they are there. Of a text, a code point cut at the end waits for the rest.

        To json, the bytes are one patch in JSON.

        Raises:
            RpcError: the server refuses it: the resource is sealed, say.
            ProtocolError: whatever answers there takes no uploads.
        """
        if whole := self._decoder.decode(data) if self.kind == "text" else data:
            await self._send(whole, None)

    async def patch(self, operations: Sequence[Mapping[str, Any]]) -> None:
        """Changes the document of a json resource: all of the operations, or none; raises as `append` (SR-2.3)."""
        await self._send(encode_given(operations), None)

    async def seal(self, state: Seal = "complete") -> None:
        """Says that nothing follows; raises as `append`."""
        await self._send(self._decoder.decode(b"", final=True), state)

    async def _send(self, data: bytes, seal: Seal | None) -> None:
        query = {"uri": self.uri, "kind": self.kind, **self._number, "seq": str(self._seq)}
        if seal is not None:
            query["seal"] = seal
        backoff = Backoff(self._on_fault)
        while True:
            try:
                await self._post(query, data)
            except ConnectionLost as exc:
                await backoff.wait(exc)
            else:
                self._seq += 1
                return

    async def _post(self, query: dict[str, str], data: bytes) -> None:
        try:
            response = await self._http.post(self._target, params=query, content=data)
        except httpx2.TransportError as exc:
            raise lost(self._target, exc) from exc
        if response.status_code in RETRYABLE_STATUS:
            raise ConnectionLost(f"{self._target} answers with HTTP status {response.status_code}")
        answer = _json(response)
        if isinstance(error := answer.get("error"), dict):
            raise rpc_error(error, None)
        if "cursor" not in answer:
            raise ProtocolError(f"{self._target} takes no uploads (HTTP status {response.status_code})")


def _json(response: httpx2.Response) -> dict[str, Any]:
    try:
        answer = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}
