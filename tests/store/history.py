"""Draws what is done next to a resource that is in memory and in a file: every kind of write, and of refusal."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from model.histories import texts
from model.json_oracle import growing, patches

from streamres.errors import StreamresError
from streamres.model import AppendNumber, Description, Seal

from .both import Both, shown
from .scene import URI

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from streamres.store import Store


@dataclass
class Numbers:
    """What two producers have sent, and send again."""

    sent: list[tuple[AppendNumber, bytes, Seal | None]] = field(default_factory=list)

    def draw(self, data: st.DataObject, fresh: bytes) -> tuple[AppendNumber, bytes]:
        how = data.draw(
            st.sampled_from(["next"] * 6 + ["again"] * 2 + ["conflict", "gap", "epoch", "fenced"]), "number"
        )
        producer = data.draw(st.sampled_from("pq"), label="producer")
        mine = [number for number, _, _ in self.sent if number.producer == producer]
        epoch = max((number.epoch for number in mine), default=1)
        seq = max((number.seq + 1 for number in mine if number.epoch == epoch), default=0)
        match how:
            case "again" | "conflict" if self.sent:
                number, what, _ = data.draw(st.sampled_from(self.sent), label="sent")
                return number, what if how == "again" else fresh
            case "gap":
                return AppendNumber(producer=producer, epoch=epoch, seq=seq + 2), fresh
            case "epoch":
                return AppendNumber(producer=producer, epoch=epoch + 1, seq=0), fresh
            case "fenced":
                return AppendNumber(producer=producer, epoch=0, seq=seq), fresh
        return AppendNumber(producer=producer, epoch=epoch, seq=seq), fresh

    def keep(self, number: AppendNumber, what: bytes, result: object) -> None:
        if not isinstance(result, StreamresError):
            self.sent.append((number, what, None))


@dataclass
class History:
    """Draws what is done next."""

    both: Both
    data: st.DataObject
    numbers: Numbers = field(default_factory=Numbers)

    async def content(self, *, whole: bool = False) -> bytes:
        """An append, mostly one that can be made, or content for a replacement."""
        draw = self.data.draw
        match self.both.kind:
            case "text":
                broken = b"" if whole else draw(st.sampled_from([b""] * 15 + [b"\xff"]), label="broken")
                return (draw(texts) * draw(st.sampled_from([1, 1, 1, 9]))).encode() + broken
            case "blob":
                return draw(st.binary(max_size=12)) * draw(st.sampled_from([1, 1, 1, 9]))
        if whole:
            return json.dumps(draw(growing)).encode()
        if draw(st.integers(0, 9), label="nothing") == 0:
            return draw(st.sampled_from([b"", b"[]"]))
        document = json.loads(shown(await self.both.memory.read(URI)))
        if draw(st.integers(0, 9), label="large") == 0:
            return json.dumps([{"op": "add", "path": "", "value": ["x" * 3000, document]}]).encode()
        return json.dumps(draw(patches(document, max_size=3))).encode()

    async def one_of_several(self) -> Callable[[Store], Awaitable[object]]:
        """Something of what one transaction makes; of patches, each is made for the document before all of it."""
        draw = self.data.draw
        match draw(
            st.sampled_from(["append"] * 6 + ["compact", "replace", "empty", "seal"]), label="one of several"
        ):
            case "compact":
                floor = draw(st.integers(0, 12))
                return lambda store: store.compact(URI, floor)
            case "replace":
                whole = await self.content(whole=True)
                return lambda store: store.replace(URI, whole)
            case "empty":
                return lambda store: store.append(URI, b"")
            case "seal" if draw(st.booleans()):
                return lambda store: store.append(URI, b"", seal="complete")
        return await self.append()

    def cause(self) -> str | None:
        """What an append names; mostly the same again, so that runs of it are long."""
        return self.data.draw(st.sampled_from([None, "a", "a", "a", "b", "c"]), label="cause")

    async def append(self) -> Callable[[Store], Awaitable[object]]:
        what, cause = await self.content(), self.cause()
        return lambda store: store.append(URI, what, cause=cause)

    async def step(self) -> None:
        draw, both = self.data.draw, self.both
        both.by_any(self.data)
        kinds = (
            ["append"] * 6 + ["numbered"] * 5 + ["replace", "compact", "compact", "empty", "expected", "reopen"]
        )
        kinds += ["forget", "create", "remove", "sweep", "refused create"] + ["seal"] * (
            draw(st.integers(0, 5)) == 0
        )
        kinds += ["together"] * 3 * (both.limits.history_bytes is None)
        match draw(st.sampled_from(kinds), label="step"):
            case "append":
                await both.do(await self.append())
            case "together":
                await both.do_together([await self.one_of_several() for _ in range(draw(st.integers(2, 6)))])
            case "numbered":
                number, what = self.numbers.draw(self.data, await self.content())
                cause = self.cause()
                made = await both.do(lambda s: s.append(URI, what, number=number, cause=cause))
                self.numbers.keep(number, what, made)
            case "replace":
                what = await self.content(whole=True)
                await both.do(lambda store: store.replace(URI, what))
            case "compact":
                floor = draw(st.integers(0, 12))
                await both.do(lambda store: store.compact(URI, floor))
            case "empty":
                await both.do(lambda store: store.append(URI, b""))
            case "expected":
                what, revision = await self.content(), draw(st.integers(0, 4))
                await both.do(lambda store: store.append(URI, what, expected_revision=revision))
            case "seal":
                what, seal = (
                    draw(st.just(b"")) or await self.content(),
                    draw(st.sampled_from(("complete", "aborted"))),
                )
                what, cause = draw(st.sampled_from([b"", what])), self.cause()
                await both.do(lambda store: store.append(URI, what, seal=seal, cause=cause))
            case "create":
                uri = f"build://{draw(st.integers(0, 3))}/more"
                more = Description(uri=uri, name="more", title="é", audience=("user",), listed=draw(st.booleans()))
                await both.do(lambda store: store.create(more, b"first"))
                await both.do(lambda store: store.append(uri, b"more", create=more))
            case "remove":
                uri = f"build://{draw(st.integers(0, 3))}/more"
                await both.do(lambda store: store.remove(uri))
            case "refused create":
                never = Description(uri="build://never/made", name="never")
                await both.do(lambda store: store.append(never.uri, b"\xff", create=never))
            case "reopen":
                await both.reopen()
            case "forget":
                await both.file._write(lambda books: books._books.clear(), 0)
                both.file._documents._kept.clear()
            case "sweep":
                both.now += 100
                await both.file._write(lambda books: books.sweep(), 0)
