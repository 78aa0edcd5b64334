"""Which function checks which clause, and in which variants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from streamres.check.binding import BINDINGS, Binding
from streamres.check.content import KINDS, Kind

if TYPE_CHECKING:
    from streamres.check.bench import Bench

Run = Callable[["Bench"], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One way to see whether clauses hold; it fails by raising `Broken`."""

    clauses: tuple[str, ...]
    run: Run
    bindings: tuple[Binding, ...]
    kinds: tuple[Kind, ...]
    every_kind: bool
    """Else the first of `kinds` that the server offers stands for all."""


CHECKS: Final[list[Check]] = []


def clause(
    *clauses: str,
    bindings: tuple[Binding, ...] = BINDINGS,
    kinds: tuple[Kind, ...] = KINDS,
    every_kind: bool = True,
) -> Callable[[Run], Run]:
    """Ties a function to the clauses that it checks, in each binding and kind unless told otherwise."""

    def tie(run: Run) -> Run:
        check = Check(clauses=clauses, run=run, bindings=bindings, kinds=kinds, every_kind=every_kind)
        CHECKS.append(check)
        return run

    return tie


def once(*clauses: str) -> Callable[[Run], Run]:
    """Ties a function whose outcome does not depend on binding or kind."""
    return clause(*clauses, bindings=("fields",), every_kind=False)


def each_binding(*clauses: str) -> Callable[[Run], Run]:
    """Ties a function whose outcome does not depend on the kind."""
    return clause(*clauses, every_kind=False)
