"""Sends what a backlog has, in order and by number, each append until it is acknowledged."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import anyio.lowlevel

from streamres.client.backoff import Backoff
from streamres.client.framing import cut
from streamres.client.spool import Spool
from streamres.client.uploads import Busy, Standing
from streamres.errors import ConnectionLost, DigestMismatch, ProducerFenced, ProtocolError, RpcError
from streamres.model.digest import digest_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from streamres.client.backlog import MemoryBacklog, Numbered
    from streamres.client.backoff import FaultHook
    from streamres.client.uploads import Uploads
    from streamres.model import Kind

    Backlog = MemoryBacklog | Spool

_BEFORE_DIGEST: Final = "; nothing was sealed: "


class Delivery:
    """One producer's way to one resource."""

    def __init__(
        self, uploads: Uploads, backlog: Backlog, uri: str, *, kind: Kind, on_fault: FaultHook | None
    ) -> None:
        self._uploads = uploads
        self._backlog = backlog
        self._uri = uri
        self._kind = kind
        self._on_fault = on_fault
        self._sha = None if kind == "json" else sha256()  # of all content, while it is this producer's alone
        self._spooled = isinstance(backlog, Spool)
        self._fresh = not backlog.resumed  # nothing of it was ever acknowledged
        self.begun = False
        """Whether it is known where the producer stands."""
        self.sent_bytes = 0
        """What was acknowledged so far, after the repair of what is not UTF-8."""
        self.replaced_bytes = 0
        """Bytes that were not UTF-8 and were sent as U+FFFD."""
        self.at_line_start = True
        """Whether the last append ended with the end of a line; also where there is none yet."""

    async def begin(self) -> None:
        """Asks where the producer stands, and goes on from there.

        A backlog without a past takes the next epoch of a producer that has one: whoever wrote as that before is
        shut out (SR-9.1.e).

        Raises:
            ProducerFenced: another took over from this producer.
            ProtocolError: the server does not have what it acknowledged, or more than this producer sent.
        """
        backlog = self._backlog
        standing = await self._insisting(lambda: self._uploads.standing(self._uri, backlog.producer))
        if standing is None:
            if not self._fresh:
                raise ProtocolError(f"{self._uploads.target} does not say where a producer stands, to go on from")
            self._sha = None
            self.begun = True
            return
        if self._fresh:
            epoch, begin = 0 if standing.epoch is None else standing.epoch + 1, 0
        else:
            epoch, begin = backlog.epoch, self._next_of(standing)
        await backlog.begin_at(epoch, begin)
        await self._hash_what_is_there(standing, begin)
        self.begun = True

    async def send(self, append: Numbered) -> None:
        """Sends the pending append until it is acknowledged.

        Raises:
            RpcError: the server refuses it.
            DigestMismatch: the server has other content than was sent; nothing was sealed.
            ProtocolError: as `begin`, or whatever answers there takes no uploads.
        """
        backlog = self._backlog
        piece = cut(self._kind, backlog.raw(append), final=append.seal is not None or self._kind == "json")
        data = append.notice.encode() + piece.data
        query = {
            "uri": self._uri,
            "kind": self._kind,
            "producer": backlog.producer,
            "epoch": str(backlog.epoch),
            "seq": str(append.seq),
        }
        if append.dropped:
            query["dropped"] = str(append.dropped)
        if append.seal is not None:
            query["seal"] = append.seal
            if self._sha is not None:
                sha = self._sha.copy()
                sha.update(data)
                # Each append made one revision: at another one, somebody else has written too.
                query |= {"digest": digest_of(sha), "revision": str(append.seq)}
        try:
            await self._insisting(lambda: self._uploads.append(query, data))
        except RpcError as exc:
            await self._refused(append, query, exc)
            return
        self._fresh = False
        self.sent_bytes += len(data)
        self.replaced_bytes += piece.replaced
        self.at_line_start = data.endswith(b"\n") if data else self.at_line_start
        if self._sha is not None:
            self._sha.update(data)
        backlog.delivered()

    async def _refused(self, append: Numbered, query: dict[str, str], exc: RpcError) -> None:
        """Does what a refusal leaves to be done; the append is still pending then."""
        match exc.data:
            case {"reason": "revision"} if "digest" in query:
                self._sha = None
            case {"reason": "digest", "expected": str(sent), "actual": str(there)}:
                raise DigestMismatch(self._uri, sent, there, await self._difference()) from exc
            case {"reason": "conflict"} if self._fresh:
                await self.begin()  # another with this id began in the same moment
            case {"reason": "gap", "expected": int(expected)} if self._spooled and expected < append.seq:
                fault = ConnectionLost(f"{self._uploads.target} has lost what it acknowledged; sending it again")
                await Backoff(self._on_fault).wait(fault)
                await self.begin()
            case {"reason": "fenced", "epoch": int(epoch), "current": int(current)}:
                raise ProducerFenced(self._uri, epoch, current) from exc
            case _:
                raise exc

    def _next_of(self, standing: Standing) -> int:
        """The number from which to go on, of a backlog that has a past."""
        backlog = self._backlog
        if standing.epoch is not None and standing.epoch > backlog.epoch:
            raise ProducerFenced(self._uri, backlog.epoch, standing.epoch)
        next_seq = standing.next_seq if standing.epoch == backlog.epoch else 0
        if next_seq > backlog.next_seq:
            raise ProtocolError(
                f"{self._uri!r} has append {next_seq - 1} of this producer, which it never sent: another pushes"
                " with its id, or its spool was set back; take another spool, and with it another id"
            )
        retained = backlog.retained
        first = retained[0].seq if retained else backlog.next_seq
        if next_seq < first:
            raise ProtocolError(
                f"the server has lost what it acknowledged of {self._uri!r}: its next append of this producer is"
                f" {next_seq}, and the spool begins with {first}"
            )
        return next_seq

    async def _hash_what_is_there(self, standing: Standing, begin: int) -> None:
        """Brings the digest to what was acknowledged before; there is none where others have written too."""
        retained = self._backlog.retained
        alone = standing.revision == begin and (begin > 0 or standing.length == 0)
        self._sha = sha = sha256() if alone and self._kind != "json" else None
        if begin and (not retained or retained[0].seq > 0):
            self._sha = None
            self.at_line_start = False
            return
        for append in retained:
            if append.seq >= begin:
                return
            data = append.notice.encode() + cut(self._kind, self._backlog.raw(append)).data
            self.at_line_start = data.endswith(b"\n")
            if sha is not None:
                sha.update(data)
            await anyio.lowlevel.checkpoint()

    async def _difference(self) -> str:
        standing = await self._insisting(lambda: self._uploads.standing(self._uri, self._backlog.producer))
        there = "an unknown number of" if standing is None else standing.length
        return f"{_BEFORE_DIGEST}{self.sent_bytes} bytes were sent, {there} are there"

    async def _insisting(self, ask: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        backoff = Backoff(self._on_fault)
        while True:
            try:
                return await ask()
            except ConnectionLost as exc:
                await backoff.wait(exc, at_least_s=exc.retry_after_s if isinstance(exc, Busy) else 0.0)
