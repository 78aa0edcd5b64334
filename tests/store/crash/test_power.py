"""A power cut: of what was written after the last `fsync`, the disk has any part, or something else.

Each acknowledgement notes how far the write-ahead log was on the disk then. A cut leaves the log up to there, and
of the rest nothing, a part, or garbage; while pages go over into the file, it leaves any of them old, new or torn.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from requirement import requirement

from store.scene import number, text_of
from streamres.model import AppendNumber, Description
from streamres.store.sqlite import SqliteStore, schema, verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamres.store import Store

KINDS = {"build://7/log": "text", "build://7/core": "blob", "build://7/plan": "json"}
CUTS = 60
SECTOR = 512

State = dict[str, tuple[bytes, object]]
Next = tuple[str, bytes, AppendNumber]


@dataclass
class Acknowledged:
    """How far the log was when something was acknowledged, what there was then, and what came next."""

    wal: int
    state: State
    next: Next | None = None


async def state_of(store: Store) -> State:
    return {
        entry.description.uri: (text_of(await store.read(entry.description.uri)), entry.head)
        for entry in await store.list(limit=10)
    }


async def history(path: Path) -> list[Acknowledged]:
    """Writes of every sort, one after the other and some together; the log is never put into the file."""
    rng = random.Random(7)
    seen = [Acknowledged(0, {})]
    wal = path.with_name(path.name + "-wal")
    seqs = dict.fromkeys(KINDS, 0)
    async with SqliteStore.open(path) as store:
        await store._write(lambda books: books._db.execute("PRAGMA wal_autocheckpoint = 0"), 0)

        async def done() -> None:
            seen.append(Acknowledged(wal.stat().st_size, await state_of(store)))

        async def append(uri: str, data: bytes) -> None:
            what = Description(uri=uri, name=uri, kind=KINDS[uri])  # type: ignore[arg-type]
            seen[-1].next = (uri, data, number(seqs[uri]))
            await store.append(uri, data, number=number(seqs[uri]), create=what)
            seqs[uri] += 1

        seen.append(Acknowledged(wal.stat().st_size, {}))  # the tables alone
        for count in range(60):
            uri = rng.choice(list(KINDS))
            match KINDS[uri]:
                case "text":
                    data = f"{count} é😀\n".encode() * rng.choice([1, 3, 6_000])
                case "blob":
                    data = rng.randbytes(rng.choice([1, 900, 70_000]))
                case _:
                    value = "x" * rng.choice([1, 70_000])
                    data = b'[{"op":"add","path":"","value":["%s"]}]' % value.encode()
            await append(uri, data)
            await done()
            if count % 10 == 9:
                async with anyio.create_task_group() as together:
                    for each in seen[-1].state:
                        together.start_soon(store.compact, each, 1)
                await done()
            if count == 30:
                await store.replace("build://7/log", "new é".encode())
                await done()
        shutil.copytree(path.parent, path.parent.with_name("written"))
    return seen


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Acknowledged]]:
    """The folder of a store whose power is about to be cut, and what was acknowledged so far."""
    folder = tmp_path_factory.mktemp("power") / "store"
    folder.mkdir()
    seen = await history(folder / "store.db")
    return folder.with_name("written"), seen


async def holds(path: Path, expected: Acknowledged) -> None:
    """Opens it without an error, with exactly what was acknowledged; and it goes on from there."""
    async with SqliteStore.open(path) as store:
        assert await state_of(store) == expected.state
        if expected.next is not None:
            uri, data, seq = expected.next
            what = Description(uri=uri, name=uri, kind=KINDS[uri])  # type: ignore[arg-type]
            before = expected.state.get(uri, (b"", None))[0]
            await store.append(uri, data, number=seq, create=what)
            after = text_of(await store.read(uri))
            assert KINDS[uri] == "json" or after == before + data
    assert list(verify(path)) == []


def no_rest(rest: bytes, rng: random.Random) -> bytes:
    return b""


def part_of_the_rest(rest: bytes, rng: random.Random) -> bytes:
    return rest[: rng.randrange(len(rest) + 1)]


def garbage(rest: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(min(len(rest), 20_000))


def zeros(rest: bytes, rng: random.Random) -> bytes:
    return bytes(len(rest))


def sectors_missing(rest: bytes, rng: random.Random) -> bytes:
    """Each sector but the first, as a disk may write them: in any order."""
    whole = [rest[at : at + SECTOR] for at in range(0, len(rest), SECTOR)]
    return b"".join(sector if at and rng.random() < 0.9 else bytes(len(sector)) for at, sector in enumerate(whole))


RESTS: list[Callable[[bytes, random.Random], bytes]] = [no_rest, part_of_the_rest, garbage, zeros, sectors_missing]


@requirement("S1")
async def test_each_transaction_is_forced_onto_the_disk(tmp_path: Path) -> None:
    """Whether the disk does what it is told cannot be seen from here; that it is told, can."""
    async with SqliteStore.open(tmp_path / "store.db") as store:
        pragmas = ("journal_mode", "synchronous")
        told = await store._write(
            lambda books: [books._db.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas], 0
        )

    assert told == ["wal", 2]


@requirement("S1")
@pytest.mark.parametrize("rest", RESTS, ids=lambda rest: rest.__name__)
async def test_a_log_that_is_torn_after_an_acknowledgement_has_all_that_was_acknowledged(
    written: tuple[Path, list[Acknowledged]], tmp_path: Path, rest: Callable[[bytes, random.Random], bytes]
) -> None:
    folder, seen = written
    rng = random.Random(rest.__name__)
    log = (folder / "store.db-wal").read_bytes()
    for cut in range(CUTS // len(RESTS)):
        copy = tmp_path / str(cut)
        copy.mkdir()
        index = rng.randrange(len(seen))
        size = seen[index].wal
        left = log[:size] + rest(log[size:], rng)
        if rest is part_of_the_rest:  # whole transactions of it may be there too, never a part of one
            index = max(index for index, acknowledged in enumerate(seen) if acknowledged.wal <= len(left))
        shutil.copy(folder / "store.db", copy)
        (copy / "store.db-wal").write_bytes(left)

        await holds(copy / "store.db", seen[index])


@requirement("S1")
async def test_a_log_cut_at_any_byte_has_each_transaction_whole_or_not_at_all(
    written: tuple[Path, list[Acknowledged]], tmp_path: Path
) -> None:
    folder, seen = written
    rng = random.Random(8)
    log = (folder / "store.db-wal").read_bytes()
    borders = [acknowledged.wal for acknowledged in seen]
    just_before = [border - 1 for border in rng.sample(borders[2:], CUTS // 4)]
    for offset in just_before + rng.sample(range(len(log)), CUTS // 4):
        copy = tmp_path / str(offset)
        copy.mkdir()
        shutil.copy(folder / "store.db", copy)
        (copy / "store.db-wal").write_bytes(log[:offset])

        await holds(copy / "store.db", [acknowledged for acknowledged in seen if acknowledged.wal <= offset][-1])


@requirement("S1")
@pytest.mark.parametrize("unit", [4096, SECTOR], ids=["pages", "sectors"])
async def test_a_cut_while_the_log_goes_over_into_the_file_loses_nothing(
    written: tuple[Path, list[Acknowledged]], tmp_path: Path, unit: int
) -> None:
    folder, seen = written
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole)
    db = schema.open_file(whole / "store.db", writes=True)
    db.execute("PRAGMA wal_checkpoint(PASSIVE)")
    new = (whole / "store.db").read_bytes()
    db.close()
    old = (folder / "store.db").read_bytes().ljust(len(new), b"\0")
    for cut in range(6):
        rng = random.Random(cut)
        copy = tmp_path / str(cut)
        copy.mkdir()
        mixed = b"".join(rng.choice((old, new))[at : at + unit] for at in range(0, len(new), unit))
        (copy / "store.db").write_bytes(mixed[: rng.choice([len(new), rng.randrange(unit, len(new))])])
        shutil.copy(folder / "store.db-wal", copy)

        await holds(copy / "store.db", seen[-1])
