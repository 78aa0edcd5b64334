"""Which era a server is of, found out once: it is asked in the words of the new one first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio

from streamres.client.messages import result_of
from streamres.client.request import CLIENT_INFO, MODERN, PLAIN, Spoken
from streamres.errors import ProtocolError
from streamres.protocol import words
from streamres.protocol.error_codes import HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.client.request import Asking

_MODERN_ERRORS: Final = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})


class Asked(Protocol):
    """A connection, as far as it takes to find out."""

    async def exchange(
        self, method: str, params: Mapping[str, Any], asking: Asking = PLAIN, *, spoken: Spoken | None = None
    ) -> dict[str, Any]:
        """Gives the message that answers."""
        ...

    async def notify(self, method: str, params: Mapping[str, Any], *, spoken: Spoken) -> None:
        """Sends a notification."""
        ...


async def settle(connection: Asked, *, probe_s: float | None = None) -> Spoken:
    """Gives what the server speaks; of the older era, the handshake is made.

    A server that says nothing at all for `probe_s` is held for one of the older era.

    Raises:
        ConnectionLost: no answer came.
        ProtocolError: it speaks no version that is spoken here, or no MCP.
        RpcError: it refuses the handshake.
    """
    refusal: ProtocolError | None = None
    answer: dict[str, Any] = {}
    try:
        with anyio.move_on_after(probe_s):
            answer = await connection.exchange(words.DISCOVER, {}, spoken=MODERN)
    except ProtocolError as exc:
        refusal = exc
    match answer:
        case {"result": {"supportedVersions": [*versions], "capabilities": dict(capabilities)}}:
            if words.VERSION in versions:
                return Spoken(capabilities=capabilities)
            _demand_legacy(versions)
        case {"error": {"code": code, "data": {"supported": [*versions]}}} if code in _MODERN_ERRORS:
            _demand_legacy(versions)
        case {"error": {"code": code}} if code in _MODERN_ERRORS:
            result_of(answer, {})
    try:
        return await _initialize(connection)
    except ProtocolError as exc:
        raise refusal or exc from exc


def _demand_legacy(versions: list[object]) -> None:
    if not set(words.LEGACY_VERSIONS) & {name for name in versions if isinstance(name, str)}:
        raise ProtocolError(f"the server speaks {', '.join(map(str, versions))}, and not {words.VERSION}")


async def _initialize(connection: Asked) -> Spoken:
    newest = words.LEGACY_VERSIONS[0]
    params = {"protocolVersion": newest, "capabilities": {}, "clientInfo": CLIENT_INFO}
    result = result_of(await connection.exchange(words.INITIALIZE, params, spoken=Spoken(version=newest)), params)
    spoken, capabilities = result.get("protocolVersion"), result.get("capabilities")
    if spoken not in words.LEGACY_VERSIONS or not isinstance(capabilities, dict):
        raise ProtocolError(f"the server wants to speak {spoken!r}, which is not spoken here")
    settled = Spoken(version=spoken, capabilities=capabilities)
    await connection.notify(words.INITIALIZED, {}, spoken=settled)
    return settled
