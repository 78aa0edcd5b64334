"""The sessions of the older era over HTTP, and the two methods that only a session has (SR-10.9)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from streamres.errors import InvalidParams, InvalidRequest, LimitExceeded, SessionNotFound
from streamres.protocol import jsonrpc
from streamres.server.outcome import Reply
from streamres.server.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamres.limits import Limits
    from streamres.protocol.jsonrpc import Request
    from streamres.server.outcome import Write
    from streamres.server.subscriptions import Subscriptions


class Sessions:
    """The sessions over HTTP: bounded in number, and ended when nobody needs them any more."""

    def __init__(self, hub: Subscriptions, limits: Limits, clock: Callable[[], float]) -> None:
        self._hub = hub
        self._limits = limits
        self._clock = clock
        self._open: OrderedDict[str, Session] = OrderedDict()  # the longest unused first

    def __len__(self) -> int:
        return len(self._open)

    def begin(self) -> Session:
        """Begins a session; where there are too many, the longest unused one makes room.

        Most clients never end theirs, so to refuse a new one would shut everyone out for the sake of the gone.

        Raises:
            LimitExceeded: one session too many, and each has a stream.
        """
        self._end_the_idle()
        most = self._limits.sessions
        if len(self._open) >= most:
            unused = next((session for session in self._open.values() if not session.streaming), None)
            if unused is not None:
                self._open.pop(unused.id).end()
        if len(self._open) >= most:
            raise LimitExceeded("sessions", most, "end one with DELETE, or use 2026-07-28, which has none")
        session = Session(self._hub)
        session.used = self._clock()
        self._open[session.id] = session
        return session

    def of_connection(self) -> Session:
        """Gives the session of a connection that is one: it ends with that, and is known by no id."""
        return Session(self._hub)

    def find(self, session_id: str) -> Session:
        """Gives a session that is asked for something.

        Raises:
            SessionNotFound: it ended, or was never begun here.
        """
        self._end_the_idle()
        session = self._open.get(session_id)
        if session is None:
            raise SessionNotFound
        self._use(session)
        return session

    def end(self, session_id: str) -> None:
        """Ends a session, and its stream.

        Raises:
            SessionNotFound: it ended before, or was never begun here.
        """
        self.find(session_id)
        self._open.pop(session_id).end()

    async def run(self, session: Session, write: Write) -> None:
        """Runs a stream of the session; the session is in use while it lasts."""
        try:
            await session.run(write)
        finally:
            if session.id in self._open:
                self._use(session)

    def close(self) -> None:
        """Forgets every session at the end of the server; their streams end by themselves."""
        while self._open:
            self._open.popitem()[1].leave()

    def _use(self, session: Session) -> None:
        session.used = self._clock()
        self._open.move_to_end(session.id)

    def _end_the_idle(self) -> None:
        overdue = self._clock() - self._limits.session_idle_s
        while self._open:
            session = next(iter(self._open.values()))
            if session.used >= overdue:
                return
            if session.streaming:
                self._use(session)
            else:
                self._open.pop(session.id).end()


async def subscribe(request: Request, session: Session | None) -> Reply:
    """Answers `resources/subscribe`."""
    uri, session = _subject(request, session)
    session.subscribe(uri)
    return Reply(jsonrpc.result(request.id, {}))


async def unsubscribe(request: Request, session: Session | None) -> Reply:
    """Answers `resources/unsubscribe`."""
    uri, session = _subject(request, session)
    session.unsubscribe(uri)
    return Reply(jsonrpc.result(request.id, {}))


def _subject(request: Request, session: Session | None) -> tuple[str, Session]:
    if session is None:
        raise InvalidRequest(f"{request.method} needs a session: send the mcp-session-id that `initialize` gave")
    uri = request.params.get("uri")
    if not isinstance(uri, str):
        raise InvalidParams("params.uri is a string")
    return uri, session
