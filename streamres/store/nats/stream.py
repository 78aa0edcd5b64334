"""The connection to the servers, and the one stream in them: everything of nats-py is here and in `feed`.

The stream is durable as its servers are: on a cluster of three or more, what is acknowledged is with two of three
servers; on a single one it is with the operating system, and survives the end of the server but not a power cut,
unless the server is configured with `sync_interval: always`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError
from nats.js.api import DiscardPolicy, Header, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError

from streamres.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from nats.js import JetStreamContext

    from streamres.store.nats.address import Address

logger = logging.getLogger("streamres.store.nats")

AnswerT = TypeVar("AnswerT")

REPLICAS: Final = 3
"""Servers of a cluster that hold the stream: one of them may fail."""

ATTEMPT_S: Final = 2.0
"""Seconds that one request waits for its answer; a leader is elected in less."""

PAUSE_S: Final = 0.05
"""Seconds between attempts."""

DUPLICATE_S: Final = 60.0
"""Seconds for which the stream knows a message that comes again: longer than a writer tries."""

MIN_PAYLOAD_BYTES: Final = 16 * 1024
"""The least `max_payload` of a server: a message takes up to 4 KiB beside its data."""

_NOT_CLUSTERED: Final = 10074
_WRONG_SEQUENCE: Final = frozenset({10071, 10164})

Answer = Literal["conflict", "absent", "unknown"]
"""Why there is no sequence number: another message is there, this one never was, or nobody can tell."""


class Stream:
    """One stream, made by `open`; it reconnects for as long as it is open."""

    def __init__(self, address: Address, client: Client, jetstream: JetStreamContext) -> None:
        self.address = address
        self.client = client
        self.jetstream = jetstream
        self.reconnected: Callable[[], None] = lambda: None
        """Called after each reconnection."""
        self._connected = asyncio.Event()
        self._attempts: set[asyncio.Timeout] = set()
        self.trouble = "it is not connected"
        """What went wrong last."""

    @classmethod
    @asynccontextmanager
    async def open(cls, address: Address, *, patience_s: float) -> AsyncIterator[Stream]:
        """Connects, and makes the stream if need be.

        Raises:
            StoreError: no server of JetStream answers within `patience_s`, or the stream is of no use.
        """
        client = Client()
        stream = cls(address, client, client.jetstream(timeout=ATTEMPT_S))
        why = "no answer"

        async def failed(exc: Exception) -> None:
            nonlocal why
            why = str(exc) or repr(exc)
            logger.debug("%s: %s", address.shown, why)

        async def reconnected() -> None:
            stream._connected.set()
            stream.reconnected()

        async def disconnected() -> None:
            stream._disconnected()

        try:
            try:
                async with asyncio.timeout(patience_s):
                    await client.connect(
                        list(address.servers),
                        name="streamres",
                        error_cb=failed,
                        reconnected_cb=reconnected,
                        disconnected_cb=disconnected,
                        connect_timeout=2,
                        reconnect_time_wait=PAUSE_S,  # type: ignore[arg-type]
                        max_reconnect_attempts=-1,
                        ping_interval=2,
                        max_outstanding_pings=2,
                    )
                    stream._connected.set()
                    await stream._retried(stream._ensure)
            except (TimeoutError, OSError, NatsError) as exc:
                raise StoreError(f"{address.shown}: {why if isinstance(exc, TimeoutError) else exc}") from exc
            yield stream
        finally:
            await client.close()

    @property
    def is_connected(self) -> bool:
        """Says whether there is a connection at the moment."""
        return bool(self.client.is_connected)

    async def connected(self) -> None:
        """Returns when there is a connection."""
        while not self.is_connected:
            self._connected.clear()
            await self._connected.wait()

    async def attempt(self, request: Awaitable[AnswerT]) -> AnswerT:
        """Gives the answer to a request.

        Raises:
            TimeoutError: there is none in time, or the connection was lost meanwhile.
        """
        async with asyncio.timeout(ATTEMPT_S) as attempt:
            self._attempts.add(attempt)
            try:
                return await request
            finally:
                self._attempts.discard(attempt)

    @property
    def max_data_bytes(self) -> int:
        """The most that goes in one message."""
        return self.client.max_payload * 3 // 4

    async def publish(
        self, subject: str, data: bytes, *, name: str, base: int | None = None, roll_up: bool = False
    ) -> int | Answer:
        """Publishes once, and gives the sequence number once the stream has it.

        With `base` it is taken only right after that message of the subject. `name` keeps a second attempt from
        being a second message.

        Raises:
            StoreError: the server takes nothing of this size.
        """
        headers: dict[str, Any] = {Header.MSG_ID.value: name}
        if base is not None:
            headers[Header.EXPECTED_LAST_SUBJECT_SEQUENCE.value] = str(base)
        if roll_up:
            headers[Header.ROLLUP.value] = "sub"
        if not self.is_connected:
            return "absent"
        try:
            ack = await self.attempt(self.jetstream.publish(subject, data, headers=headers))
        except NoStreamResponseError:
            self.trouble = "the stream has no leader"
            return "absent"
        except MaxPayloadError as exc:
            raise StoreError(f"{self.address.shown}: raise max_payload of the server: {len(data)} bytes") from exc
        except APIError as exc:
            if exc.err_code in _WRONG_SEQUENCE:
                return "conflict"
            self.trouble = exc.description or str(exc)
            return "unknown"
        except (NatsError, TimeoutError, OSError, ValueError) as exc:
            self.trouble = str(exc) or repr(exc)
            return "unknown"
        return int(ack.seq)

    async def last_seq(self) -> int:
        """Gives the number of the stream's last message.

        Raises:
            StoreError: nobody answers.
        """
        if not self.is_connected:
            raise StoreError(f"{self.address.shown} is not connected")
        try:
            info = await self.attempt(self.jetstream.stream_info(self.address.stream))
        except (NatsError, TimeoutError, OSError) as exc:
            raise StoreError(f"{self.address.shown}: {str(exc) or repr(exc)}") from exc
        return int(info.state.last_seq)

    async def purge_parts(self, uri: str, keep_from: int) -> None:
        """Removes the parts before the message `keep_from` that belong to one resource, if somebody answers."""
        try:
            await self.jetstream.purge_stream(
                self.address.stream, seq=keep_from, subject=self.address.parts_subject(uri)
            )
        except (NatsError, TimeoutError, OSError) as exc:
            logger.debug("%s: %r", self.address.shown, exc)

    def _disconnected(self) -> None:
        self._connected.clear()
        self.trouble = "the connection is lost"
        for attempt in self._attempts:
            if not attempt.expired():
                attempt.reschedule(0)  # its answer does not come any more

    async def _retried(self, act: Callable[[], Awaitable[None]]) -> None:
        """Does it until it is not for a leader that is missing."""
        while True:
            try:
                return await act()
            except NotFoundError:
                raise
            except (APIError, NatsError, TimeoutError) as exc:
                if isinstance(exc, APIError) and exc.code != 503:
                    raise
                logger.debug("%s: %r", self.address.shown, exc)
                await asyncio.sleep(PAUSE_S)

    async def _ensure(self) -> None:
        address = self.address
        if self.client.max_payload < MIN_PAYLOAD_BYTES:
            raise StoreError(f"{address.shown}: raise max_payload of the server to {MIN_PAYLOAD_BYTES} at least")
        try:
            info = await self.jetstream.stream_info(address.stream)
        except NotFoundError:
            config = StreamConfig(
                name=address.stream,
                description="resources of streamres",
                subjects=address.subjects,
                retention=RetentionPolicy.LIMITS,
                storage=StorageType.FILE,
                duplicate_window=DUPLICATE_S,
                discard=DiscardPolicy.NEW,  # a full stream refuses; it forgets nothing
                num_replicas=REPLICAS,
                allow_rollup_hdrs=True,
            )
            try:
                info = await self.jetstream.add_stream(config)
            except APIError as exc:
                if exc.err_code != _NOT_CLUSTERED:
                    raise
                info = await self.jetstream.add_stream(config, num_replicas=1)
        config = info.config
        wrong = [
            name
            for name, is_wrong in {
                "subjects": set(config.subjects or ()) != set(address.subjects),
                "retention": config.retention != RetentionPolicy.LIMITS,
                "max_age": bool(config.max_age),
                "max_msgs_per_subject": config.max_msgs_per_subject > 0,
                "discard": config.discard != DiscardPolicy.NEW,
                "allow_rollup_hdrs": not config.allow_rollup_hdrs,
            }.items()
            if is_wrong
        ]
        if wrong:
            raise StoreError(
                f"stream {address.stream} cannot keep resources, by its {', '.join(wrong)}; name another"
            )


async def end(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancels tasks until they have ended: before Python 3.12 `wait_for`, which nats-py uses, may lose it once."""
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=PAUSE_S)
