"""The one consumer of a replica: every message of the stream, in order, none left out.

It is an ordered consumer: the server counts what it delivers, and where a number is missing, the connection was
lost, or nothing comes any more, another one begins after the last message that was applied.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from nats.errors import Error as NatsError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, Header

from streamres.errors import StoreError
from streamres.store.nats.stream import PAUSE_S, logger

if TYPE_CHECKING:
    from nats.aio.msg import Msg

    from streamres.store.nats.replica import Replica
    from streamres.store.nats.stream import Stream

HEARTBEAT_S: Final = 0.5
"""Seconds after which the server says that it has nothing to say."""

SILENCE_S: Final = 2.0
"""Seconds of silence after which the consumer is taken for lost."""

INACTIVE_S: Final = 10.0
"""Seconds after which the server removes a consumer that nobody listens to."""

_FIELDS: Final = 9  # $JS ACK stream consumer delivered stream-seq consumer-seq time pending; later ones have more


class Feed:
    """Brings a replica up to date, and keeps it so."""

    def __init__(self, stream: Stream, replica: Replica) -> None:
        self.up_to_date = asyncio.Event()
        """Set once everything was applied that the stream had when the feed began."""
        self._stream = stream
        self._replica = replica
        self._lost = asyncio.Event()
        self._heard = 0.0
        self._expected = 1
        self._inbox = ""
        stream.reconnected = self._lost.set

    async def begun(self, timeout_s: float) -> None:
        """Returns once the replica has all that the stream had at the beginning.

        Raises:
            StoreError: the stream holds something else, or does not come within `timeout_s` of silence.
        """
        while not self.up_to_date.is_set():
            before = self._replica.seq
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self.up_to_date.wait()
            if self._replica.failure is not None:
                raise self._replica.failure
            if not self.up_to_date.is_set() and self._replica.seq == before:
                raise StoreError(f"{self._stream.address.shown}: the stream does not come")

    async def run(self) -> None:
        """Goes on until it is cancelled, or the replica has to be given up."""
        while self._replica.failure is None:
            try:
                await self._stream.connected()
                await self._consume()
            except (NatsError, TimeoutError, OSError) as exc:
                logger.debug("%s: %r", self._stream.address.shown, exc)
                await asyncio.sleep(PAUSE_S)
            except Exception as exc:
                logger.exception("the feed of %s", self._stream.address.shown)
                self._replica.fail(StoreError(f"{self._stream.address.shown}: {exc!r}"))
        self.up_to_date.set()
        logger.error("%s", self._replica.failure)

    async def _consume(self) -> None:
        """Runs one consumer until it is lost."""
        stream = self._stream
        client, name = stream.client, stream.address.stream
        loop = asyncio.get_running_loop()
        self._lost.clear()
        self._expected = 1
        self._heard = loop.time()
        await self._check()
        self._inbox = inbox = client.new_inbox()

        async def on_message(msg: Msg) -> None:
            if inbox == self._inbox and not self._lost.is_set():
                await self._on_message(msg)

        # No limits: the server stops by itself until what it sent is taken (flow control).
        heard = await client.subscribe(inbox, cb=on_message, pending_msgs_limit=0, pending_bytes_limit=0)
        try:
            asked = stream.jetstream.add_consumer(
                name,
                ConsumerConfig(
                    deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
                    opt_start_seq=self._replica.seq + 1,
                    deliver_subject=inbox,
                    ack_policy=AckPolicy.NONE,
                    max_deliver=1,
                    flow_control=True,
                    idle_heartbeat=HEARTBEAT_S,
                    inactive_threshold=INACTIVE_S,
                    mem_storage=True,
                    num_replicas=1,
                ),
            )
            info = await stream.attempt(asked)
            if not info.num_pending:
                self.up_to_date.set()
            self._heard = loop.time()
            while self._replica.failure is None and not self._lost.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(self._heard + SILENCE_S):
                        await self._lost.wait()
                if loop.time() >= self._heard + SILENCE_S:
                    break
        finally:
            with suppress(NatsError):
                await heard.unsubscribe()

    async def _check(self) -> None:
        """Makes sure that it is the stream from which the replica comes."""
        info = await self._stream.attempt(self._stream.jetstream.stream_info(self._stream.address.stream))
        if info.state.last_seq < self._replica.seq:
            self._replica.fail(
                StoreError(
                    f"stream {self._stream.address.stream} ends at message {info.state.last_seq}, and message"
                    f" {self._replica.seq} was there: it is another, or an older state. Start the server anew"
                )
            )

    async def _on_message(self, msg: Msg) -> None:
        self._heard = asyncio.get_running_loop().time()
        headers = msg.headers
        if headers is not None and headers.get(Header.STATUS) == "100":
            if msg.reply:
                await self._stream.client.publish(msg.reply)  # flow control: all before it is applied
            elif (stalled := headers.get(Header.CONSUMER_STALLED)) is not None:
                await self._stream.client.publish(stalled)
            elif int(headers.get(Header.LAST_CONSUMER, 0)) >= self._expected:
                self._lost.set()
            return
        fields = msg.reply.split(".")
        at = 4 if len(fields) == _FIELDS else 6
        _, seq, number, time_ns, pending = map(int, fields[at : at + 5])
        if number != self._expected:
            self._lost.set()
            return
        self._expected += 1
        if seq > self._replica.seq:
            try:
                self._replica.apply(msg.subject, seq, time_ns / 1e9, msg.data)
            except StoreError:
                self._lost.set()
                return
        if not pending:
            self.up_to_date.set()
