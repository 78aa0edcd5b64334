"""`server/discover`, and `initialize` and `ping` of the older era."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from streamres.model import KINDS
from streamres.protocol import jsonrpc
from streamres.protocol.words import EXTENSION, LEGACY_VERSIONS, SESSIONLESS, VERSION
from streamres.server.outcome import Begun, Reply

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.protocol.jsonrpc import Request
    from streamres.protocol.messages import Messages
    from streamres.server.more import More
    from streamres.server.session import Session
    from streamres.server.sessions import Sessions

_DISCOVER_TTL_MS: Final = 300_000
"""What a server offers changes only with its program; five minutes is a restart that nobody noticed."""


class Lifecycle:
    """Says what the server is and offers."""

    def __init__(
        self,
        messages: Messages,
        limits: Limits,
        sessions: Sessions,
        more: More | None = None,
        *,
        name: str,
        version: str,
    ) -> None:
        self._more = more
        self._messages = messages
        self._sessions = sessions
        self._server_info = {"name": name, "version": version}
        settings = {"kinds": KINDS, "maxWaitMs": limits.wait_ms, "maxBytes": limits.read_bytes}
        self._capabilities: dict[str, Any] = {
            "resources": {"subscribe": True, "listChanged": True},
            "extensions": {EXTENSION: settings},
        }

    async def discover(self, request: Request) -> Reply:
        """Gives versions and capabilities; no other request depends on it."""
        capabilities = self._capabilities
        if self._more is not None:
            extensions = {**capabilities["extensions"], **self._more.extensions()}
            capabilities = {**capabilities, **self._more.capabilities(), "extensions": extensions}
        members = {"supportedVersions": [VERSION], "capabilities": capabilities}
        return Reply(self._messages.result(request.id, members, ttl_ms=_DISCOVER_TTL_MS))

    async def initialize(self, request: Request, session: Session | None, *, over_http: bool) -> Reply | Begun:
        """Answers the older handshake, and begins the session in which updates are pushed, unless there is one.

        Raises:
            LimitExceeded: one session too many.
        """
        asked = request.params.get("protocolVersion")
        version = asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
        pushes = not (over_http and version == SESSIONLESS)
        members: dict[str, Any] = {
            "protocolVersion": version,
            "capabilities": {"resources": self._capabilities["resources"] if pushes else {}, **self._tools()},
            "serverInfo": self._server_info,
        }
        reply = Reply(jsonrpc.result(request.id, members))
        if session is not None or not pushes:
            return reply
        return Begun(reply, self._sessions.begin() if over_http else self._sessions.of_connection())

    def _tools(self) -> dict[str, Any]:
        # Of changes of their list no session is told.
        return {} if self._more is None else {name: {} for name in self._more.capabilities()}

    async def ping(self, request: Request) -> Reply:
        """Answers that the server is there."""
        return Reply(jsonrpc.result(request.id, {}))
