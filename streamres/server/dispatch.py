"""From the bytes of one message to its outcome: parse, tell the era, check, find the method, map the errors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from streamres.errors import MethodNotFound, StreamresError
from streamres.protocol import envelope, jsonrpc, words
from streamres.protocol.error_codes import HTTP_STATUS, INTERNAL_ERROR, code_of, data_of
from streamres.protocol.jsonrpc import Notification, Request
from streamres.protocol.messages import Messages
from streamres.protocol.text import TextEncoder
from streamres.server.closing import Closing
from streamres.server.lifecycle import Lifecycle
from streamres.server.outcome import Accepted, Cancel, Outcome, Pending, Reply, Stream
from streamres.server.resources import Resources
from streamres.server.subscriptions import Subscriptions

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.protocol.envelope import Era, RoutingHeaders
    from streamres.protocol.jsonrpc import RequestId
    from streamres.server.outcome import LongReply, Write
    from streamres.store import Store

logger = logging.getLogger("streamres.server")

Method = Callable[[Request], Awaitable[Outcome]]


class Dispatcher:
    """The MCP server over one store. One response a request (V1); an error never ends the server."""

    def __init__(self, store: Store, limits: Limits, *, name: str, version: str) -> None:
        messages = Messages(name=name, version=version)
        encoder = TextEncoder()
        lifecycle = Lifecycle(messages, limits, name=name, version=version)
        self.requests = 0
        """Messages taken so far."""
        self.closing = Closing()
        resources = Resources(store, messages, encoder, limits, self.closing)
        self.subscriptions = Subscriptions(store, messages, encoder, limits, self.closing)
        both: dict[str, Method] = {
            words.LIST: resources.list,
            words.TEMPLATES: resources.templates,
            words.READ: resources.read,
        }
        self._methods: dict[Era, dict[str, Method]] = {
            "modern": {
                **both,
                words.DISCOVER: lifecycle.discover,
                words.LISTEN: self.subscriptions.listen,
            },
            "legacy": {**both, words.INITIALIZE: lifecycle.initialize, words.PING: lifecycle.ping},
        }

    async def dispatch(self, body: bytes, headers: Callable[[], RoutingHeaders] | None = None) -> Outcome:
        """Gives the outcome of one message; `headers` picks the HTTP headers, None on a transport without."""
        self.requests += 1
        era: Era = "modern"
        request_id: RequestId | None = None
        try:
            message = jsonrpc.parse(body)
            if isinstance(message, Notification):
                return _taken(message)
            request_id = message.id
            routing = None if headers is None else headers()
            era = envelope.era_of(message, routing)
            if era == "modern":
                envelope.check(message, routing)
            method = self._methods[era].get(message.method)
            if method is None:
                raise MethodNotFound(message.method)
            outcome = await method(message)
        except Exception as exc:
            if request_id is None:
                request_id = jsonrpc.request_id_of(body)
            return self._refusal(request_id, exc, era)
        match outcome:
            case Pending():
                return self._guarded(message.id, outcome, era)
            case Stream() if headers is None:
                # A stream of its own is cut at a fault, and read on from its cursor; a shared one goes on.
                return self._guarded_stream(message.id, outcome, era)
        return outcome

    def close(self) -> None:
        """Begins the end: every subscription gets its result, every wait its answer."""
        self.closing.begin()

    def _guarded(self, request_id: RequestId, pending: Pending, era: Era) -> Pending:
        async def answer() -> Reply | LongReply:
            try:
                return await pending.answer()
            except Exception as exc:
                return self._refusal(request_id, exc, era)

        return Pending(answer)

    def _guarded_stream(self, request_id: RequestId, stream: Stream, era: Era) -> Stream:
        async def run(write: Write) -> None:
            try:
                await stream.run(write)
            except Exception as exc:
                await write(self._refusal(request_id, exc, era).body)

        return Stream(run)

    def _refusal(self, request_id: RequestId | None, exc: Exception, era: Era) -> Reply:
        if not isinstance(exc, StreamresError):
            logger.error("a request failed", exc_info=exc)
            return Reply(jsonrpc.error(request_id, INTERNAL_ERROR, "internal error", None))
        code = code_of(exc)
        # Clients of the older era read no body at other statuses than 200.
        status = HTTP_STATUS[code] if era == "modern" else 200
        return Reply(jsonrpc.error(request_id, code, str(exc), data_of(exc)), status)


def _taken(message: Notification) -> Accepted | Cancel:
    if message.method == words.CANCELLED:
        request_id = message.params.get("requestId")
        if isinstance(request_id, str | int) and not isinstance(request_id, bool):
            return Cancel(request_id)
    return Accepted()
