"""All subscriptions of one server: what each of them asks for, and the notifications that they share (section 6).

The bytes of a notification are made once: two subscribers that go from the same cursor to the same head differ in
the id of their subscription only.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Protocol

from streamres.errors import InvalidParams, LimitExceeded
from streamres.model import Append, Head, Patch, decode_cursor
from streamres.protocol import messages
from streamres.protocol.binding import StreamFilter, listen_request
from streamres.server.outcome import Stream
from streamres.server.subscription import Subscription

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.model import Position, Reading
    from streamres.protocol.binding import Form
    from streamres.protocol.jsonrpc import Request
    from streamres.protocol.messages import Halves, Messages
    from streamres.protocol.text import TextEncoder
    from streamres.server.closing import Closing
    from streamres.server.more import More
    from streamres.store import Store

_SHARED_FRAMES: Final = 64
"""Notifications kept for the next subscriber. Each holds at most `Limits.notification_bytes` of text."""

_FrameKey = tuple[int, int, "Form", bool]
_Frame = tuple["Position | None", Head, "Halves", Head]


class Follower(Protocol):
    """Whoever holds a stream of notifications."""

    @property
    def behind(self) -> bool:
        """Says whether there is something that it has not been sent."""
        ...


class Subscriptions:
    """Opens subscriptions over one store."""

    def __init__(
        self,
        store: Store,
        messages: Messages,
        encoder: TextEncoder,
        limits: Limits,
        closing: Closing,
        more: More | None = None,
    ) -> None:
        self.store = store
        self._more = more
        self.messages = messages
        self.limits = limits
        self.closing = closing
        self.open: set[Follower] = set()
        self._encoder = encoder
        self._frames: OrderedDict[_FrameKey, _Frame] = OrderedDict()

    async def listen(self, request: Request) -> Stream:
        """Gives the stream for a `subscriptions/listen`.

        Raises:
            InvalidParams, CursorInvalid: the filter is malformed.
            LimitExceeded: too many URIs.
        """
        form, streams = listen_request(request.params)
        wanted = request.params["notifications"]
        plain = [] if (asked := wanted.get("resourceSubscriptions")) is None else asked
        if not isinstance(plain, list) or not all(isinstance(uri, str) for uri in plain):
            raise InvalidParams("resourceSubscriptions is a list of URIs")
        filters = {uri: StreamFilter() for uri in plain} | streams
        if len(filters) > self.limits.subscription_uris:
            raise LimitExceeded(
                "subscription_uris", self.limits.subscription_uris, "open a second subscription for the rest"
            )
        since = {
            uri: decode_cursor(stream.since, uri) for uri, stream in streams.items() if stream.since is not None
        }
        listening = None if self._more is None else self._more.listening(request)
        subscription = Subscription(
            self,
            request,
            listening,
            form=form,
            filters=filters,
            since=since,
            list_changed=wanted.get("resourcesListChanged") is True,
        )
        honoured: dict[str, object] = {"resourceSubscriptions": plain} if plain else {}
        if listening is not None:
            honoured |= await listening.honoured()
        return Stream(lambda write: subscription.run(write, honoured, streams))

    @property
    def behind(self) -> bool:
        """Says whether a subscriber has not been sent all there is."""
        return any(follower.behind for follower in self.open)

    async def frame(
        self, uri: str, sent: Position | None, head: Head, form: Form, *, in_session: bool = False
    ) -> tuple[Halves, Head]:
        """Gives the notification that leads from `sent` towards `head`, and where it leads to.

        It carries the delta where `sent` is a position to give it from; else the cursor alone (SR-6.3).
        """
        # Subscribers that go together share these very objects, and the frame keeps them alive: their
        # identities are the cheapest key there is.
        key = (id(sent), id(head), form, in_session)
        frame = self._frames.get(key)
        if frame is None:
            halves, reached = await self._make_frame(uri, sent, head, form, in_session)
            frame = self._frames[key] = (sent, head, halves, reached)
            if len(self._frames) > _SHARED_FRAMES:
                self._frames.popitem(last=False)
        return frame[2], frame[3]

    async def _make_frame(
        self, uri: str, sent: Position | None, head: Head, form: Form, in_session: bool
    ) -> tuple[Halves, Head]:
        binding = form.binding
        if binding is None:
            return messages.updated(uri, {}, None), head
        if sent is not None:
            most = self.limits.notification_bytes
            reading = await self.store.read(uri, sent, max_bytes=most, append_op=form.append_op)
            step = reading.step
            # A patch cannot be cut, so one that is too large is only announced.
            if isinstance(step, Append) or (isinstance(step, Patch) and step.size <= most):
                encoded = step.operations if isinstance(step, Patch) else self._encoder.joined(uri, step)
                members = messages.with_delta(uri, reading, step, encoded)
                return messages.updated(uri, members, binding), _head_of(reading)
        return messages.updated(uri, messages.at_head(uri, head), binding, in_session=in_session), head


def _head_of(reading: Reading) -> Head:
    return Head(position=reading.step.stop, state=reading.state, digest=reading.digest)
