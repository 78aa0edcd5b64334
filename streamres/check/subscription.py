"""The frames of one subscription as they come, with what the core demands of each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import anyio

from streamres.check.answers import update_of
from streamres.check.binding import FILTER_MEMBERS, members_of
from streamres.check.exchange import Answer, short
from streamres.check.finding import Broken, demand

if TYPE_CHECKING:
    from streamres.check.answers import Update
    from streamres.check.binding import Binding
    from streamres.check.content import Kind
    from streamres.check.exchange import Exchange
    from streamres.check.limits import Waits

SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
UPDATED: Final = "notifications/resources/updated"


class Subscription:
    """Made by `Session.listen`. What comes early waits here: nothing is lost between two looks."""

    def __init__(self, exchange: Exchange, subscription_id: str | None, waits: Waits) -> None:
        self.exchange = exchange
        self._id = subscription_id
        self._waits = waits
        self._begun = False
        self._ready = anyio.Event()
        self._write, self._read = anyio.create_memory_object_stream[Any](math.inf)

    def feed(self, message: object) -> None:
        """Takes one message off the wire."""
        self.exchange.got.append(message)
        self._write.send_nowait(message)

    def begin(self) -> None:
        """Says that the stream is there."""
        self._begun = True
        self._ready.set()

    async def begun(self) -> None:
        """Returns when the stream is there.

        Raises:
            Broken: it was refused, or did not come.
        """
        with anyio.move_on_after(self._waits.soon_s):
            await self._ready.wait()
        if self._begun:
            return
        got = f"no stream: HTTP status {self.exchange.status} {short(self.exchange.got)}"
        raise Broken(got, exchange=self.exchange)

    def end(self) -> None:
        """Says that the stream ended, or never was one."""
        self._ready.set()
        self._write.close()

    def close(self) -> None:
        """Lets go of what nobody took."""
        self._write.close()
        self._read.close()

    async def next(self, within_s: float) -> dict[str, Any] | None:
        """Gives the next message, None at the end of the stream.

        Raises:
            TimeoutError: none came in time.
            Broken: it is not JSON-RPC, or lacks the id of the subscription.
        """
        with anyio.fail_after(within_s):
            try:
                message = await self._read.receive()
            except anyio.EndOfStream:
                return None
        if not isinstance(message, dict):
            raise Broken(f"not a message: {short(message)}", exchange=self.exchange)
        if self._id is not None and "error" not in message:
            self._demand_id(message)
        return message

    async def refusal(self) -> Answer:
        """Gives the error that answers a filter which is refused.

        Raises:
            Broken: the filter was taken.
        """
        message = await self.due("an error")
        demand("error" in message, f"not refused: {short(message)}", exchange=self.exchange)
        return Answer(self.exchange, message)

    async def acknowledged(self) -> dict[str, Any]:
        """Gives the params of the acknowledgement, which is the first message.

        Raises:
            Broken: it is another one.
        """
        message = await self.due("the acknowledgement")
        if "error" in message:
            raise Broken(f"refused: {short(message['error'])}", exchange=self.exchange)
        got = f"the first message is {short(message.get('method', message))}"
        demand(message.get("method") == ACKNOWLEDGED, got, clause="MCP-ack-first", exchange=self.exchange)
        params: dict[str, Any] = message["params"]
        honoured = params.get("notifications")
        got = f"notifications is {short(honoured)}"
        demand(isinstance(honoured, dict), got, clause="MCP-ack-first", exchange=self.exchange)
        return params

    async def streams(self, binding: Binding) -> dict[str, Any]:
        """Gives what is acknowledged of `resourceStreams`.

        Raises:
            Broken: it stands elsewhere, or is missing.
        """
        params = await self.acknowledged()
        members = members_of(params, FILTER_MEMBERS, binding, self.exchange, inside=params["notifications"])
        streams = members.get("resourceStreams")
        if streams is None:
            got = f"the acknowledgement has no resourceStreams: {short(params)}"
            raise Broken(got, clause="SR-7.5.a", exchange=self.exchange)
        holds = isinstance(streams, dict) and all(isinstance(stream, dict) for stream in streams.values())
        got = f"resourceStreams is {short(streams)}"
        demand(holds, got, clause="SR-7.5.a", exchange=self.exchange)
        checked: dict[str, Any] = streams
        return checked

    async def update(self, binding: Binding, kind: Kind, *, clause: str | None = None) -> Update:
        """Gives the next update, which is due.

        Raises:
            Broken: none came, by `clause`; or it is wrong.
        """
        message = await self.due("an update", clause)
        self._demand_update(message, clause)
        return update_of(message, binding, kind, self.exchange)

    async def plain_update(self, *, clause: str | None = None) -> dict[str, Any]:
        """Gives the params of the next update, which is due, as they are."""
        message = await self.due("an update", clause)
        self._demand_update(message, clause)
        params: dict[str, Any] = message["params"]
        return params

    async def surplus(self, within_s: float | None = None) -> dict[str, Any] | None:
        """Gives a message that should not come, None where it stays quiet.

        Raises:
            Broken: the stream ended.
        """
        try:
            message = await self.next(self._waits.quiet_s if within_s is None else within_s)
        except TimeoutError:
            return None
        if message is None:
            raise Broken("the stream ended", exchange=self.exchange)
        return message

    async def drained(self) -> list[dict[str, Any]]:
        """Gives what comes until it is quiet or the stream ends; of one that never is, a part."""
        messages: list[dict[str, Any]] = []
        deadline = anyio.current_time() + self._waits.soon_s
        while anyio.current_time() < deadline:
            try:
                message = await self.next(self._waits.quiet_s)
            except TimeoutError:
                break
            if message is None:
                break
            messages.append(message)
        return messages

    async def due(self, what: str, clause: str | None = None) -> dict[str, Any]:
        """Gives the next message, which is due.

        Raises:
            Broken: none came, by `clause`.
        """
        try:
            message = await self.next(self._waits.soon_s)
        except TimeoutError as exc:
            got = f"{what} did not come within {self._waits.soon_s:g} s"
            raise Broken(got, clause=clause, exchange=self.exchange) from exc
        if message is None:
            fault = "" if self.exchange.fault is None else f" ({self.exchange.fault})"
            raise Broken(f"the stream ended before {what}{fault}", clause=clause, exchange=self.exchange)
        return message

    def _demand_update(self, message: dict[str, Any], clause: str | None) -> None:
        if message.get("method") == UPDATED and isinstance(message.get("params"), dict):
            got = f"an update without its URI: {short(message)}"
            demand(isinstance(message["params"].get("uri"), str), got, exchange=self.exchange)
            return
        what = "the result that ends it" if "result" in message else short(message)
        raise Broken(f"no update but {what}", clause=clause, exchange=self.exchange)

    def _demand_id(self, message: dict[str, Any]) -> None:
        holder = message.get("result") if "result" in message else message.get("params")
        meta = holder.get("_meta") if isinstance(holder, dict) else None
        given = meta.get(SUBSCRIPTION_ID) if isinstance(meta, dict) else None
        got = f"{SUBSCRIPTION_ID} is {short(given)} in {short(message)}"
        demand(given == self._id, got, clause="MCP-subscription-id", exchange=self.exchange)


def stream_of(streams: dict[str, Any], uri: str, exchange: Exchange) -> dict[str, Any]:
    """Gives what is acknowledged for one URI.

    Raises:
        Broken: nothing is.
    """
    stream = streams.get(uri)
    if not isinstance(stream, dict):
        got = f"{uri} is not in the acknowledgement: {short(streams)}"
        raise Broken(got, clause="SR-7.5.a", exchange=exchange)
    return stream
