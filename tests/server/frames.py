"""What came over the wire: the answer to a request, and the frames of a subscription as they come."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2

Binding = Literal["fields", "meta"]

STREAM = "dev.streamres/stream"


@dataclass(frozen=True)
class Answer:
    status: int
    message: dict[str, Any]

    @property
    def result(self) -> dict[str, Any]:
        assert "result" in self.message, self.message
        return self.message["result"]

    @property
    def error(self) -> dict[str, Any]:
        return self.message["error"]

    @property
    def refusal(self) -> tuple[int, int, Any]:
        return self.status, self.error["code"], self.error.get("data")

    @property
    def text(self) -> str:
        """The snapshot's text."""
        (item,) = self.result["contents"]
        return item["text"]

    def stream(self, binding: Binding) -> dict[str, Any]:
        """The members of the extension."""
        if binding == "meta":
            return self.result["_meta"][STREAM]
        core = {"resultType", "contents", "ttlMs", "cacheScope", "_meta"}
        return {name: value for name, value in self.result.items() if name not in core}


class Frames:
    """The frames of one subscription as they come."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self.comments = 0
        self._chunks = chunks
        self._buffer = b""

    async def next(self) -> dict[str, Any] | None:
        """The next message, None at the end of the stream."""
        with anyio.fail_after(5):
            while True:
                event, end, rest = self._buffer.partition(b"\n\n")
                if not end:
                    chunk = await anext(self._chunks, None)
                    if chunk is None:
                        return None
                    self._buffer += chunk
                    continue
                self._buffer = rest
                if event.startswith(b"data: "):
                    return json.loads(event.removeprefix(b"data: "))
                assert event == b":", f"neither message nor comment: {event!r}"
                self.comments += 1

    async def take(self) -> dict[str, Any]:
        frame = await self.next()
        assert frame is not None, "the stream ended"
        return frame

    async def rest(self) -> list[dict[str, Any]]:
        """Every message to the end of the stream."""
        frames = []
        while (frame := await self.next()) is not None:
            frames.append(frame)
        return frames


class HttpFrames(Frames):
    """Those that answer a request; `response` has been read where it is a refusal."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(response.aiter_raw())
        self.response = response
