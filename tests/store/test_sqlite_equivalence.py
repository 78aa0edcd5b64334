"""Whatever is done to it, the store in a file says what the store in memory says: reads, heads, lists, refusals.

Epochs are random in both, so they are compared by the order in which they came. Pieces are of a few bytes here:
short histories cross as many of their borders as megabytes do.
"""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model.histories import texts
from model.json_oracle import QUICKLY, growing, patched, patches
from requirement import requirement

from streamres.errors import LimitExceeded, StreamresError
from streamres.limits import Limits
from streamres.model import (
    KINDS,
    Append,
    AppendNumber,
    Description,
    Patch,
    Position,
    Reading,
    Seal,
    Snapshot,
    content,
)
from streamres.store import MemoryStore
from streamres.store.sqlite import SqliteStore, book, pieces, verify

from .scene import OTHER, URI

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from streamres.model import Kind
    from streamres.store import Store

EXAMPLES = 20
"""Of each kind; a history has some twenty steps, and each is looked at from every position that there ever was."""

PIECE_BYTES = 16

IN_MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
"""What is on the disk when is for other tests; thousands of stores there would take minutes."""


@pytest.fixture(autouse=True, scope="module")
def small_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (content, book, pieces):
            patch.setattr(module, "BLOCK_BYTES", PIECE_BYTES)
        patch.setattr(book, "_SMALL_BYTES", PIECE_BYTES // 2)
        yield


@dataclass
class Both:
    """The same history in memory and in a file."""

    folder: Path
    kind: Kind
    limits: Limits
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    held: list[tuple[Position, Position]] = field(default_factory=list)
    documents: dict[Position, Any] = field(default_factory=dict)
    now: float = 1000.0

    @property
    def path(self) -> Path:
        return self.folder / "store.db"

    async def open(self) -> None:
        self.memory = MemoryStore(self.limits, clock=lambda: self.now)
        self.epochs: tuple[dict[int, int], dict[int, int]] = ({}, {})
        await self.reopen()

    async def reopen(self) -> None:
        await self.stack.aclose()
        self.files = [
            await self.stack.enter_async_context(SqliteStore.open(self.path, self.limits, clock=lambda: self.now))
            for _ in range(2)
        ]
        self.file = self.files[0]

    def by_any(self, data: st.DataObject) -> None:
        """Goes on by one of two stores over the same file, as two programs do."""
        self.file = self.files[data.draw(st.integers(0, 1), label="by")]

    async def do(self, act: Callable[[Store], Awaitable[object]]) -> object:
        """Does it to both, and compares what came of it: a result or a refusal, in words."""
        one, other = await outcome(act(self.memory)), await outcome(act(self.file))
        self.same(one, other)
        return one

    async def do_together(self, acts: list[Callable[[Store], Awaitable[object]]]) -> None:
        """Does all of it to the file in one transaction."""
        go = threading.Event()
        first = asyncio.ensure_future(self.file._write(lambda _: go.wait(), 0))
        tasks = [asyncio.ensure_future(outcome(act(self.file))) for act in acts]
        await asyncio.sleep(0)
        go.set()
        await first
        for act, other in zip(acts, await asyncio.gather(*tasks), strict=True):
            self.same(await outcome(act(self.memory)), other)

    def same(self, one: object, other: object) -> None:
        assert self.plain(0, one) == self.plain(1, other)

    def plain(self, which: int, value: Any) -> Any:  # noqa: ANN401
        """The value, with every epoch as the number of those before it."""
        match value:
            case Position():
                seen = self.epochs[which]
                return (seen.setdefault(value.epoch, len(seen)), value.revision, value.length)
            case LimitExceeded():
                return value.limit, value.value  # each has advice of its own
            case StreamresError():
                return type(value), str(value)
            case Reading():
                step = value.step
                return (
                    type(step),
                    None if isinstance(step, Snapshot) else self.plain(which, step.start),
                    step.begin if isinstance(step, Snapshot) else None,
                    self.plain(which, step.stop),
                    shown(value),
                    (value.state, value.digest, value.reset, value.more, value.causes),
                )
            case list():
                return [self.plain(which, item) for item in value]
            case _ if hasattr(value, "description"):
                return value.description, self.plain(which, value.head)
            case _ if hasattr(value, "position"):
                return self.plain(which, value.position), value.state, value.digest
            case _:
                return value

    async def look(self, data: st.DataObject) -> None:
        """Compares everything that anyone can learn."""
        self.by_any(data)
        await self.do(lambda store: store.entry(URI))
        for after in (None, URI, OTHER):
            await self.do(lambda store, after=after: store.list(after=after, limit=3))  # type: ignore[misc]
        heads = [(await store.entry(URI)).head.position for store in (self.memory, self.file)]
        if (heads[0], heads[1]) not in self.held:
            self.held.append((heads[0], heads[1]))
            if self.kind == "json":
                self.documents[heads[0]] = json.loads(shown(await self.memory.read(URI)))
        for max_bytes in (None, data.draw(st.integers(0, 40), label="max_bytes")):
            for tail_bytes in (None, data.draw(st.integers(0, 60), label="tail_bytes")):
                await self.read(None, max_bytes=max_bytes, tail_bytes=tail_bytes)
            for since in tuple(self.held):
                for append_op in (True, False) if self.kind == "json" else (True,):
                    await self.read(since, max_bytes=max_bytes, append_op=append_op)

    async def read(self, since: tuple[Position, Position] | None, **how: Any) -> None:  # noqa: ANN401
        one = await self.memory.read(URI, None if since is None else since[0], **how)
        other = await self.file.read(URI, None if since is None else since[1], **how)
        if self.kind == "json" and type(one.step) is not type(other.step):
            # A document's size is known about: each may give a delta where the other gives the smaller snapshot.
            self.leads_to_the_same(one, other, since)
            return
        self.same(one, other)
        stops = (one.step.stop, other.step.stop)
        if len(self.held) < 60 and stops not in self.held and self.kind != "json":
            self.held.append(stops)  # inside of a revision

    def leads_to_the_same(self, one: Reading, other: Reading, since: tuple[Position, Position] | None) -> None:
        assert since is not None
        for reading in (one, other):
            if isinstance(reading.step, Patch):
                folded = patched(self.documents[since[0]], json.loads(reading.step.operations))
            else:
                assert reading.reset == "smaller"
                folded = json.loads(shown(reading))
            assert folded == self.documents[self.held[-1][0]]


async def outcome(act: Awaitable[object]) -> object:
    try:
        return await act
    except StreamresError as exc:
        return exc


def shown(reading: Reading) -> bytes:
    step = reading.step
    if isinstance(step, Patch):
        return step.operations
    assert isinstance(step, Append | Snapshot)
    slices = list(step.slices())
    assert all(slices), "an empty slice: the walk may never end"
    return b"".join(slices)


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


async def run(kind: Kind, data: st.DataObject, folder: Path) -> None:
    limits = Limits(
        history_bytes=data.draw(st.sampled_from([None, None, 30]), label="history_bytes"),
        json_bytes=data.draw(st.sampled_from([4_000_000, 100]), label="json_bytes"),
        producers=2,
        resources=4,
    )
    both = Both(folder, kind, limits)
    await both.open()
    async with both.stack:
        history = History(both, data)
        what = Description(uri=URI, name="log", kind=kind)
        first = data.draw(st.booleans(), label="first content")
        given_first = await history.content(whole=True) if first else b""
        if isinstance(await both.do(lambda store: store.create(what, given_first)), StreamresError):
            return
        await both.look(data)
        for _ in range(data.draw(st.integers(0, 20), label="steps")):
            await history.step()
            await both.look(data)
        await both.reopen()
        await both.look(data)
    assert list(verify(both.path)) == []


@requirement("S1")
@requirement("S2")
@pytest.mark.parametrize("kind", KINDS)
def test_the_file_says_what_memory_says(kind: Kind) -> None:
    @given(data=st.data())
    @settings(QUICKLY, max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    def same(data: st.DataObject) -> None:
        with TemporaryDirectory(prefix="streamres-", dir=IN_MEMORY) as folder:
            asyncio.run(run(kind, data, Path(folder)))

    same()


@requirement("SR-3.5")
async def test_the_seal_of_a_document_outlives_the_patches_before_it(tmp_path: Path) -> None:
    """It adds no bytes, and was kept in one piece with patches that are not wanted any more."""
    both = Both(tmp_path, "json", Limits())
    await both.open()
    async with both.stack:
        await both.do(lambda store: store.create(Description(uri=URI, name="plan", kind="json")))
        patch = b'[{"op":"add","path":"","value":1}]'
        await both.do_together(
            [lambda store: store.append(URI, patch), lambda store: store.append(URI, b"", seal="complete")]
        )
        heads = [(await store.entry(URI)).head.position for store in (both.memory, both.file)]
        await both.do(lambda store: store.compact(URI, 1))
        await both.do(lambda store: store.append(URI, b"", seal="complete"))

        await both.read((heads[0], heads[1]))
        await both.reopen()
        await both.read((heads[0], heads[1]))
    assert list(verify(both.path)) == []
