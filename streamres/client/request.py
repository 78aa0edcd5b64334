"""One request of a client: what it says of itself in the era of its server, and who hears what comes before it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import orjson

from streamres.protocol import words

if TYPE_CHECKING:
    from streamres.protocol.jsonrpc import RequestId

Hear = Callable[[dict[str, Any]], Awaitable[None]]
"""Is given each message that comes before the answer; the next is read when it returns."""

CLIENT_INFO: Final = {"name": "streamres", "version": version("streamres")}
_EXTENSIONS: Final[Mapping[str, Any]] = {words.EXTENSION: {"binding": "fields", "patchOps": ["append"]}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What a server speaks, and what it says that it can."""

    version: str = words.VERSION
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_legacy(self) -> bool:
        """Says whether it is of the older era, which begins with `initialize`."""
        return self.version != words.VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What a request has beside method and params."""

    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """What the client can for it, beside the extension."""
    tokens: tuple[str, ...] = ()
    """Members of `_meta` that get the request's id, by which notifications name it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    quiet_s: float | None = None
    """Seconds without a word after which the server is gone; None leaves it at `Timeouts.answer_s`."""
    hear: Hear | None = None


PLAIN: Final = Asking()
MODERN: Final = Spoken()


def encode(request_id: RequestId, method: str, params: Mapping[str, Any], asking: Asking, spoken: Spoken) -> bytes:
    """Gives the request as the server takes it."""
    meta: dict[str, Any] = dict.fromkeys(asking.tokens, request_id)
    if not spoken.is_legacy:
        extensions = {**_EXTENSIONS, **asking.capabilities.get("extensions", {})}
        meta[words.VERSION_META] = words.VERSION
        meta[words.CLIENT_INFO_META] = CLIENT_INFO
        meta[words.CAPABILITIES_META] = {**asking.capabilities, "extensions": extensions}
    said = {**params, "_meta": meta} if meta else params
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": said})


def notification(method: str, params: Mapping[str, Any]) -> bytes:
    """Gives a notification."""
    return orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params})
