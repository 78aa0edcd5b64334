"""Section 9: what an upload endpoint accepts, repeats and refuses."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING, Any

from streamres.check.exchange import short
from streamres.check.finding import demand
from streamres.check.registry import clause
from streamres.check.writer import as_bytes, upload_error

if TYPE_CHECKING:
    from streamres.check.bench import Bench, Point
    from streamres.check.exchange import Exchange


class _Producer:
    """Numbered appends to a resource of its own."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.uploads = bench.stage.writer.uploads
        self.uri = bench.stage.new_uri()
        self.name = token_hex(4)

    async def send(self, seq: int, step: object = None, *, epoch: int = 0, **query: str) -> Exchange:
        data = as_bytes(self.bench.stage.piece(self.bench.kind, seq) if step is None else step)
        number = {"producer": self.name, "epoch": str(epoch), "seq": str(seq)}
        return await self.uploads.send(self.uri, self.bench.kind, data, **number, **query)

    async def sent(self, seq: int, *, epoch: int = 0, **query: str) -> dict[str, Any]:
        """What one is acknowledged with, which is due."""
        exchange = await self.send(seq, epoch=epoch, **query)
        return acknowledged(exchange)

    async def unchanged(self, before: Point, what: str) -> None:
        after = await self.bench.snapshot(self.uri)
        same = after.cursor == before.cursor and after.content == before.content
        got = f"{what} changed it from {before.cursor} (revision {before.reading.revision}) to {after.cursor}"
        demand(same, got)

    async def head(self) -> Point:
        return await self.bench.snapshot(self.uri)

    async def refused(self, exchange: Exchange, what: str, **data: object) -> None:
        """Demands the refusal of SR-13.1."""
        demand(exchange.status != 200, f"{what} is taken", exchange=exchange)
        given = upload_error(exchange)
        expected = {"uri": self.uri, **data}
        holds = {name: given.get(name) for name in expected} == expected
        demand(holds, f"{what} is refused with {short(given)}, not {short(expected)}", exchange=exchange)
        got = f"{what} is refused at HTTP status {exchange.status}"
        demand(exchange.status == 409, got, clause="SR-13.1", exchange=exchange)


@clause("SR-9.1.b", bindings=("fields",))
async def a_repeat_is_acknowledged_as_the_first_time(bench: Bench) -> None:
    producer = _Producer(bench)
    first = await producer.sent(0)
    second = await producer.sent(1)
    before = await producer.head()
    for seq, was in ((0, first), (1, second)):
        again = await producer.sent(seq)
        got = f"the repeat of {seq} is acknowledged with {again.get('cursor')}, at first it was {was['cursor']}"
        demand(again.get("cursor") == was["cursor"], got)
        await producer.unchanged(before, f"the repeat of append {seq}")


@clause("SR-9.1.c", bindings=("fields",))
async def a_repeat_with_other_bytes_is_a_conflict(bench: Bench) -> None:
    producer = _Producer(bench)
    await producer.sent(0)
    before = await producer.head()
    other = bench.stage.piece(bench.kind, 2) if bench.kind != "json" else [{"op": "add", "path": "/x", "value": 1}]
    exchange = await producer.send(0, other)
    await producer.refused(exchange, "a repeat with other bytes", reason="conflict", seq=0, expected=1)
    await producer.unchanged(before, "a conflict")


@clause("SR-9.1.d", bindings=("fields",))
async def a_gap_is_refused_with_the_number_that_was_expected(bench: Bench) -> None:
    producer = _Producer(bench)
    await producer.sent(0)
    before = await producer.head()
    exchange = await producer.send(2)
    await producer.refused(exchange, "append 2 after 0", reason="gap", seq=2, expected=1)
    await producer.unchanged(before, "a gap")
    exchange = await producer.send(1, epoch=1)
    await producer.refused(exchange, "append 1 as the first of an epoch", reason="gap", seq=1, expected=0)
    await producer.sent(1)


@clause("SR-9.1.e", bindings=("fields",))
async def an_older_epoch_is_refused(bench: Bench) -> None:
    producer = _Producer(bench)
    await producer.sent(0, epoch=3)
    before = await producer.head()
    exchange = await producer.send(0, epoch=2)
    await producer.refused(exchange, "an append of epoch 2 after 3", reason="fenced", epoch=2, current=3)
    await producer.unchanged(before, "an append of an older epoch")


@clause("SR-9.2.b", bindings=("fields",))
async def another_revision_than_demanded_is_refused_with_the_actual_one(bench: Bench) -> None:
    history = await bench.fresh(2)
    uploads = bench.stage.writer.uploads
    actual = history.head.reading.revision
    data = as_bytes(bench.stage.piece(bench.kind, 1))
    for expected in (actual - 1, actual + 1):
        exchange = await uploads.send(history.uri, bench.kind, data, revision=str(expected))
        got = f"an append that demands revision {expected} of {actual} is taken"
        demand(exchange.status != 200, got, exchange=exchange)
        given = upload_error(exchange)
        right = (given.get("reason"), given.get("expected"), given.get("actual")) == ("revision", expected, actual)
        demand(right, f"refused with {short(given)}, the resource is at {actual}", exchange=exchange)
    after = await bench.snapshot(history.uri)
    demand(after.cursor == history.head.cursor, "a refused append changed the resource")
    exchange = await uploads.send(history.uri, bench.kind, data, revision=str(actual))
    demand(exchange.status == 200, f"the actual revision {actual} is refused", exchange=exchange)


@clause("SR-9.3.a", bindings=("fields",))
async def after_the_seal_nothing_changes(bench: Bench) -> None:
    history = await bench.fresh(2)
    await bench.seal(history)
    uploads = bench.stage.writer.uploads
    before = await bench.snapshot(history.uri)
    data = as_bytes(bench.stage.piece(bench.kind, 1))
    cases: tuple[tuple[str, bytes, dict[str, str]], ...] = (
        ("an append", data, {}),
        ("another seal", b"", {"seal": "aborted"}),
        ("an append with the same seal", data, {"seal": "complete"}),
    )
    for what, body, query in cases:
        exchange = await uploads.send(history.uri, bench.kind, body, **query)
        after = await bench.snapshot(history.uri)
        same = after.cursor == before.cursor and after.content == before.content
        demand(same and after.reading.state == before.reading.state, f"{what} after the seal changed it")
        demand(exchange.status != 200, f"{what} after the seal is acknowledged", exchange=exchange)
        given = upload_error(exchange)
        right = (given.get("reason"), given.get("state")) == ("sealed", "complete")
        demand(right, f"{what} after the seal is refused with {short(given)}", exchange=exchange)


@clause("SR-9.3.b", bindings=("fields",))
async def what_changes_nothing_is_acknowledged_after_the_seal(bench: Bench) -> None:
    producer = _Producer(bench)
    await producer.sent(0)
    last = await producer.sent(1, seal="complete")
    before = await producer.head()
    again = await producer.sent(1, seal="complete")
    got = f"the repeat of the last append is acknowledged with {again.get('cursor')}, not {last['cursor']}"
    demand(again.get("cursor") == last["cursor"], got)
    acknowledged(await producer.uploads.send(producer.uri, bench.kind, b"", seal="complete"))
    await producer.unchanged(before, "a repeat after the seal")


def acknowledged(exchange: Exchange) -> dict[str, Any]:
    """Gives what an append is acknowledged with: where the resource stands after it.

    Raises:
        Broken: it was refused.
    """
    got = exchange.got[-1] if exchange.got else None
    taken = exchange.status == 200 and isinstance(got, dict) and isinstance(got.get("cursor"), str)
    demand(taken, f"refused (HTTP status {exchange.status}): {short(got)}", exchange=exchange)
    answer: dict[str, Any] = got if isinstance(got, dict) else {}
    return answer
