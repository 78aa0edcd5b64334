"""`server/discover`, and `initialize` and `ping` of the older era."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from streamres.protocol import jsonrpc
from streamres.protocol.words import EXTENSION, LEGACY_VERSIONS, VERSION
from streamres.server.outcome import Reply

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.protocol.jsonrpc import Request
    from streamres.protocol.messages import Messages

_DISCOVER_TTL_MS: Final = 300_000
"""What a server offers changes only with its program; five minutes is a restart that nobody noticed."""


class Lifecycle:
    """Says what the server is and offers."""

    def __init__(self, messages: Messages, limits: Limits, *, name: str, version: str) -> None:
        self._messages = messages
        self._server_info = {"name": name, "version": version}
        settings = {"kinds": ["text", "blob"], "maxWaitMs": limits.wait_ms, "maxBytes": limits.read_bytes}
        self._capabilities: dict[str, Any] = {
            "resources": {"subscribe": True, "listChanged": True},
            "extensions": {EXTENSION: settings},
        }

    async def discover(self, request: Request) -> Reply:
        """Gives versions and capabilities; no other request depends on it."""
        members = {"supportedVersions": [VERSION], "capabilities": self._capabilities}
        return Reply(self._messages.result(request.id, members, ttl_ms=_DISCOVER_TTL_MS))

    async def initialize(self, request: Request) -> Reply:
        """Answers the older handshake without a session: nothing is pushed, so nothing of that is offered."""
        asked = request.params.get("protocolVersion")
        version = asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
        members: dict[str, Any] = {
            "protocolVersion": version,
            "capabilities": {"resources": {}},
            "serverInfo": self._server_info,
        }
        return Reply(jsonrpc.result(request.id, members))

    async def ping(self, request: Request) -> Reply:
        """Answers that the server is there."""
        return Reply(jsonrpc.result(request.id, {}))
