"""Runs the cells of a comparison one after another, so that none takes the time of another."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from streamres.carriers import carriers
from streamres.compare.cell import Cell, run_cell
from streamres.compare.faults import FAULTS
from streamres.compare.works import WORKS
from streamres.errors import StreamresError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from streamres.carriers import Carrier
    from streamres.compare.faults import Fault
    from streamres.compare.works import Work

ThingT = TypeVar("ThingT")


class Unknown(StreamresError):
    """There is no carrier, work or fault of this name."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        super().__init__(f"no {what} {name!r}; there are {', '.join(known)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Which cells are run."""

    carriers: Sequence[Carrier]
    works: Sequence[Work]
    faults: Sequence[Fault]
    seed: int
    speed: float | None
    """Times as fast as recorded; None for in steps, where the same seed gives the same verdicts and bytes."""

    @property
    def count(self) -> int:
        """How many cells."""
        return len(self.carriers) * len(self.works) * len(self.faults)

    async def cells(self) -> AsyncIterator[Cell]:
        """Runs each and gives it; to be called in a `quiet.WatchedLoop`."""
        for work in self.works:
            for fault in self.faults:
                for carrier in self.carriers:
                    yield await run_cell(carrier, work, fault, seed=self.seed, speed=self.speed)


def matrix(
    *,
    carrier_ids: Sequence[str] = (),
    work_ids: Sequence[str] = (),
    fault_ids: Sequence[str] = (),
    works: Sequence[Work] = (),
    seed: int = 1,
    speed: float | None = None,
) -> Matrix:
    """Gives the cells of the carriers, works and faults of these names, all where none is named.

    `works` are works of one's own, in place of those that are not named.

    Raises:
        Unknown: there is none of a name.
    """
    own = [] if works and not work_ids else _named("work", WORKS, work_ids)
    return Matrix(
        carriers=_named("carrier", carriers(), carrier_ids),
        works=[*(make(seed) for make in own), *works],
        faults=_named("fault", FAULTS, fault_ids),
        seed=seed,
        speed=speed,
    )


def _named(what: str, known: Mapping[str, ThingT], names: Sequence[str]) -> list[ThingT]:
    for name in names:
        if name not in known:
            raise Unknown(what, name, known)
    return [known[name] for name in names or known]


def line(cell: Cell) -> bytes:
    """Gives a cell as a line of JSON."""
    return orjson.dumps(asdict(cell)) + b"\n"


def same(cell: Cell) -> dict[str, Any]:
    """Gives of a cell what the same seed gives again, in steps, on whatever machine."""
    verdict = cell.verdict
    return {
        "cell": (cell.carrier, cell.work, cell.fault),
        "error": cell.error,
        "verdict": verdict and (verdict.word, verdict.during, verdict.said, verdict.end_known, verdict.seen),
        "meter": asdict(cell.meter),
    }
