"""From the bytes of one message to its outcome: parse, tell the era, check, find the method, map the errors."""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from streamres.errors import MethodNotFound, StoreError, StreamresError
from streamres.protocol import envelope, jsonrpc, words
from streamres.protocol.error_codes import HTTP_STATUS, INTERNAL_ERROR, code_of, data_of, message_of
from streamres.protocol.jsonrpc import Notification
from streamres.protocol.messages import Messages
from streamres.protocol.text import TextEncoder
from streamres.server.closing import Closing
from streamres.server.lifecycle import Lifecycle
from streamres.server.outcome import Accepted, Cancel, Outcome, Pending, Reply, Stream
from streamres.server.resources import Resources
from streamres.server.sessions import Sessions, subscribe, unsubscribe
from streamres.server.subscriptions import Subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamres.limits import Limits
    from streamres.protocol.envelope import Era, RoutingHeaders
    from streamres.protocol.jsonrpc import Request, RequestId
    from streamres.server.more import Method, More
    from streamres.server.outcome import LongReply, Write
    from streamres.server.session import Session
    from streamres.store import Store

logger = logging.getLogger("streamres.server")

_OTHER: Final = "other"
_NAMES: Final = frozenset(
    {
        words.DISCOVER,
        words.INITIALIZE,
        words.LIST,
        words.LISTEN,
        words.PING,
        words.READ,
        words.SUBSCRIBE,
        words.TEMPLATES,
        words.UNSUBSCRIBE,
        words.TOOLS_LIST,
        words.CALL,
        words.TASKS_GET,
        words.TASKS_UPDATE,
        words.TASKS_CANCEL,
    }
)
"""The methods that are told apart; whatever else is asked is not to make a number of its own."""


class Dispatcher:
    """The MCP server over one store. One response a request (V1); an error never ends the server.

    `clock` gives seconds that only grow; idle sessions end by it. `around` gives what is called for a method in
    place of it.
    """

    def __init__(
        self,
        store: Store,
        limits: Limits,
        *,
        name: str,
        version: str,
        more: More | None = None,
        clock: Callable[[], float] = time.monotonic,
        around: Callable[[str, Method], Method] | None = None,
    ) -> None:
        messages = Messages(name=name, version=version)
        encoder = TextEncoder()
        self.requests = 0
        """Messages taken so far."""
        self.outcomes: Counter[tuple[str, str]] = Counter()
        """Requests so far by method, and by `ok` or the code of the error; an unknown method is `other`."""
        self.closing = Closing()
        resources = Resources(store, messages, encoder, limits, self.closing)
        self.subscriptions = Subscriptions(store, messages, encoder, limits, self.closing, more)
        self.sessions = Sessions(self.subscriptions, limits, clock)
        self._lifecycle = lifecycle = Lifecycle(messages, limits, self.sessions, more, name=name, version=version)
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
            "legacy": {**both, words.PING: lifecycle.ping},
        }
        self._more = more
        self._around = around
        if around is not None:
            for methods in self._methods.values():
                methods.update({name: around(name, method) for name, method in methods.items()})

    async def dispatch(
        self,
        body: bytes,
        headers: Callable[[], RoutingHeaders] | None = None,
        session: Session | None = None,
    ) -> Outcome:
        """Gives the outcome of one message; `headers` picks the HTTP headers, None on a transport without.

        There, a connection is a session: `session` is the one that a message on it began before.
        """
        self.requests += 1
        era: Era = "modern"
        request_id: RequestId | None = None
        name = _OTHER
        try:
            message = jsonrpc.parse(body)
            routing = None if headers is None else headers()
            named = envelope.session_of(message, routing)
            if named is not None:
                session = self.sessions.find(named)
            if isinstance(message, Notification):
                return _taken(message)
            request_id, name = message.id, message.method
            message.headers = routing
            era = envelope.era_of(message, routing)
            if era == "modern":
                envelope.check(message, routing)
                outcome = await self._call(message, era)
            else:
                outcome = await self._call_in_session(message, session, over_http=routing is not None)
        except Exception as exc:
            if request_id is None:
                request_id = jsonrpc.request_id_of(body)
            return self._refusal(request_id, exc, era, name)
        self.outcomes[name, "ok"] += 1
        match outcome:
            case Pending():
                return self._guarded(message, outcome, era)
            case Stream() if headers is None:
                # A stream of its own is cut at a fault, and read on from its cursor; a shared one goes on.
                return self._guarded_stream(message, outcome, era)
        return outcome

    def close(self) -> None:
        """Begins the end: every subscription gets its result, every wait its answer; every session is over."""
        self.closing.begin()
        self.sessions.close()

    async def _call(self, request: Request, era: Era) -> Outcome:
        method = self._methods[era].get(request.method)
        if method is None and self._more is not None:
            method = self._more.method(era, request.method)
            if method is not None and self._around is not None:
                method = self._around(request.method, method)
        if method is None:
            raise MethodNotFound(request.method)
        return await method(request)

    async def _call_in_session(self, request: Request, session: Session | None, *, over_http: bool) -> Outcome:
        match request.method:
            case words.INITIALIZE:
                return await self._lifecycle.initialize(request, session, over_http=over_http)
            case words.SUBSCRIBE:
                return await subscribe(request, session)
            case words.UNSUBSCRIBE:
                return await unsubscribe(request, session)
            case _:
                return await self._call(request, "legacy")

    def _guarded(self, request: Request, pending: Pending, era: Era) -> Pending:
        async def answer() -> Reply | LongReply:
            try:
                return await pending.answer()
            except Exception as exc:
                return self._refusal(request.id, exc, era, request.method)

        return Pending(answer)

    def _guarded_stream(self, request: Request, stream: Stream, era: Era) -> Stream:
        async def run(write: Write) -> None:
            try:
                await stream.run(write)
            except Exception as exc:
                await write(self._refusal(request.id, exc, era, request.method).body)

        return Stream(run)

    def _refusal(self, request_id: RequestId | None, exc: Exception, era: Era, name: str) -> Reply:
        code = code_of(exc) if isinstance(exc, StreamresError) else INTERNAL_ERROR
        self.outcomes[name if name in _NAMES else _OTHER, str(code)] += 1
        if not isinstance(exc, StreamresError):
            logger.error("a request failed", exc_info=exc, extra={"event": "request_failed", "method": name})
            return Reply(jsonrpc.error(request_id, INTERNAL_ERROR, "internal error", None))
        if isinstance(exc, StoreError):
            logger.error("the store failed: %s", exc, extra={"event": "store_error", "method": name})
        # Clients of the older era read no body at other statuses than 200.
        status = HTTP_STATUS.get(code, 200) if era == "modern" else 200
        return Reply(jsonrpc.error(request_id, code, message_of(exc), data_of(exc)), status)


def _taken(message: Notification) -> Accepted | Cancel:
    if message.method == words.CANCELLED:
        request_id = message.params.get("requestId")
        if isinstance(request_id, str | int) and not isinstance(request_id, bool):
            return Cancel(request_id)
    return Accepted()
