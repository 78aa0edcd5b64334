"""The outputs of one call through the bridge, assembled from what the other server says while it works.

Partials are committed in the order of `seq`. What is missing before them is waited for, as long as no more than
`Limits.gap_partials` wait and no longer than `Limits.gap_s`; then the gap is recorded, and they go on after it.
The output `report` says how it stands:

  outcome    null until the end, then `equal`, `prefix` or `different` (SR-11.2.c)
  committed  partials that are in the outputs
  missing    numbers that did not come in time, and `gaps`: which, as `[first, last]` (SR-11.2.b)
  repeats    partials that came again; late: that came after their gap was recorded; refused: that no output takes
  final      whether one said that it is the last
  stopped    the limit at which the bridge stopped to keep them; left out where there was none
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

import anyio

from streamres.bridge.order import Order
from streamres.bridge.outcome import Outcome, of_all, of_values
from streamres.bridge.part import Part, one_cause
from streamres.bridge.parts import Key, piece_of, whole
from streamres.errors import DeltaError, LimitExceeded, StreamresError
from streamres.model import Snapshot
from streamres.protocol.words import STREAM_META

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streamres.client import CallResult, Listed, Partial
    from streamres.limits import Limits
    from streamres.model import Update
    from streamres.sources.resource import Resource
    from streamres.store import Store
    from streamres.tools import Context

logger = logging.getLogger("streamres.bridge")


class Assembly:
    """What is kept of one call."""

    def __init__(self, context: Context, store: Store, limits: Limits) -> None:
        self._context = context
        self._store = store
        self._limits = limits
        self._order: Order[Partial] = Order(limits.gap_partials)
        self._parts: dict[Key, Part] = {}
        self._names: set[str] = {"report", "progress"}
        self._known: dict[str, Listed] = {}
        self._progress: Resource | None = None
        self._report: Resource | None = None
        self._committed = self._refused = 0
        self._final = False
        self._stopped: str | None = None
        self._lock = anyio.Lock()
        self._patience: asyncio.Task[None] | None = None
        self._failure: StreamresError | None = None
        self.cursors: dict[str, str] = {}
        """How far each streamable resource of the other server is in here (SR-11.1.d)."""

    def named(self, outputs: Iterable[Listed]) -> None:
        """Takes note of what the other server calls its own outputs."""
        self._known |= {output.uri: output for output in outputs}

    def is_copied(self, uri: object) -> bool:
        """Says whether a resource of the other server is in an output here."""
        return any(key.source == uri for key in self._parts if key.source is not None)

    async def take(self, partial: Partial) -> None:
        """Takes a partial as it came."""
        async with self._lock:
            self._raise_failure()
            if self._report is None:
                self._report = await self._context.json("report", self._standing(None))
            missing = self._order.missing
            await self._commit(self._order.take(partial.seq, partial))
            if self._order.missing != missing:
                await self._write_report(None)
            if self._order.waits and (self._patience is None or self._patience.done()):
                self._patience = asyncio.create_task(self._be_patient())

    async def line(self, message: str) -> None:
        """Adds what the other server says of its progress, as one line."""
        async with self._lock:
            if self._stopped is None:
                try:
                    if self._progress is None:
                        self._progress = await self._context.text("progress")
                    await self._progress.append(" ".join(message.split("\n")) + "\n")
                except LimitExceeded as exc:
                    self._stop(exc)
                except DeltaError as exc:
                    logger.warning("a message of progress is left out: %s", exc)

    async def follow(self, update: Update, of: Listed) -> None:
        """Takes a step of a streamable resource of the other server, which goes on where the partials ended."""
        async with self._lock:
            self._raise_failure()
            self.cursors[of.uri] = update.cursor
            if self._stopped is None:
                try:
                    part = await self._part(Key(update.kind, of.uri))
                    await part.follow(update)
                except LimitExceeded as exc:
                    self._stop(exc)

    async def end(self, result: CallResult | None) -> None:
        """Commits what still waits, and records the outcome; without a result there is none."""
        async with self._lock:
            self.close()  # in the lock: what it has begun to commit is committed
            self._raise_failure()
            while self._order.waits:
                await self._commit(self._order.give_up())
            if self._report is not None:
                await self._write_report(None if result is None else await self._compared(result))

    def close(self) -> None:
        """Waits for nothing any more."""
        if self._patience is not None:
            self._patience.cancel()

    async def _be_patient(self) -> None:
        """Gives up each gap that was waited for long enough."""
        try:
            while self._order.waits:
                awaited = self._order.next
                await anyio.sleep(self._limits.gap_s)
                async with self._lock:
                    if self._order.next == awaited and self._order.waits:
                        await self._commit(self._order.give_up())
                        await self._write_report(None)
        except StreamresError as exc:
            self._failure = exc

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    async def _commit(self, partials: Iterable[Partial]) -> None:
        for partial in partials:
            self._final = self._final or partial.final
            if self._stopped is not None:
                continue
            try:
                await self._add(partial)
                self._committed += 1
            except LimitExceeded as exc:
                self._stop(exc)
            except DeltaError as exc:
                self._refused += 1
                logger.warning("a partial is left out: %s", exc)

    async def _add(self, partial: Partial) -> None:
        stream = partial.meta.get(STREAM_META)
        stream = stream if isinstance(stream, dict) else {}
        uri, cursor = stream.get("uri"), stream.get("cursor")
        source = uri if isinstance(uri, str) else None
        cause = one_cause(stream.get("cause"))
        for block in partial.content:
            piece = piece_of(block, source)
            if piece is not None:
                part = await self._part(piece.key, piece.mime_type)
                await part.add(piece.data, replaces=piece.replaces, cause=cause)
        if partial.structured is not None:
            part = await self._part(Key("json", source))
            await part.change(partial.structured, self._limits, cause)
        if source is not None and isinstance(cursor, str):
            self.cursors[source] = cursor

    async def _part(self, key: Key, mime_type: str | None = None) -> Part:
        if (part := self._parts.get(key)) is not None:
            return part
        known = self._known.get(key.source or "")
        name = self._free("output" if known is None else known.name, "structured" if key.kind == "json" else None)
        mime_type = mime_type if known is None else known.mime_type
        match key.kind:
            case "text":
                output = await self._context.text(name, mime_type=mime_type)
            case "blob":
                output = await self._context.blob(name, mime_type=mime_type)
            case "json":
                output = await self._context.json(name)
        part = self._parts[key] = Part(output)
        return part

    def _free(self, name: str, otherwise: str | None) -> str:
        """A name that no other output of the call has, and that a URI can hold."""
        wanted = otherwise if otherwise is not None and name == "output" else name
        plain = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in wanted)
        free, number = plain, 1
        while free in self._names:
            number += 1
            free = f"{plain}-{number}"
        self._names.add(free)
        return free

    def _stop(self, exc: LimitExceeded) -> None:
        self._stopped = exc.limit
        logger.warning("the bridge stops to keep what a call puts out: %s", exc)

    def _standing(self, outcome: Outcome | None) -> dict[str, Any]:
        order = self._order
        standing: dict[str, Any] = {
            "outcome": outcome,
            "committed": self._committed,
            "missing": order.missing,
            "gaps": [[gap.first, gap.last] for gap in order.gaps],
            "repeats": order.repeats,
            "late": order.late,
            "refused": self._refused,
            "final": self._final,
        }
        return standing if self._stopped is None else {**standing, "stopped": self._stopped}

    async def _write_report(self, outcome: Outcome | None) -> None:
        assert self._report is not None
        await self._report.set(self._standing(outcome))

    async def _compared(self, result: CallResult) -> Outcome:
        final = whole(iter(result.content))
        return of_all([await self._outcome(key, part, final, result) for key, part in self._parts.items()])

    async def _outcome(self, key: Key, part: Part, final: Mapping[Key, bytes], result: CallResult) -> Outcome:
        if key.kind == "json":
            return of_values(await self._document(part), result.structured)
        # A streamable resource is no part of a result by itself: the result says the same in its own blocks.
        media = part.output.description.mime_type if key.kind == "blob" else None
        return part.assembled.against(final.get(key) or final.get(Key(key.kind, None, media)) or b"")

    async def _document(self, part: Part) -> object:
        """The document, or of structured content that came bit by bit the last bit, which may be all of it."""
        step = (await self._store.read(part.output.uri)).step
        assert isinstance(step, Snapshot)
        value = json.loads(b"".join(step.slices()))
        return value[-1] if part.is_list and value else value
