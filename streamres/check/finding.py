"""What a check says: one finding a clause, and the three ways in which a check ends early."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.check.exchange import Exchange

Status = Literal["pass", "fail", "warn", "not offered", "not tested"]
"""`warn` is what `fail` is for a clause that says SHOULD."""


class Broken(Exception):
    """The server broke a clause: what was got, and in which exchange where it is not the newest one.

    Without a clause it is the one that is being checked.
    """

    def __init__(self, got: str, *, clause: str | None = None, exchange: Exchange | None = None) -> None:
        super().__init__(got)
        self.got = got
        self.clause = clause
        self.exchange = exchange


class NotOffered(Exception):
    """The server does not declare what the clause is about."""


class NotTested(Exception):
    """The clause could not be observed; the text says what it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came out for one clause, in all its variants or in the one that failed."""

    clause: str
    status: Status
    detail: str
    """Why: what was got instead, or the reason for which it was not tested."""
    variants: tuple[str, ...] = ()
    """In which bindings and kinds it was seen, as `meta text`."""
    exchanges: tuple[Exchange, ...] = field(default=(), repr=False)
    """Every message of the check, the telling one last."""


@contextmanager
def scene() -> Iterator[None]:
    """Puts what breaks while a scene is made where it belongs: to the plain read that every scene is made of.

    Raises:
        Broken: by the clause that broke, or SR-5.1.a.
    """
    try:
        yield
    except (NotOffered, NotTested):
        raise
    except Broken as exc:
        if exc.clause is not None:
            raise
        raise Broken(exc.got, clause="SR-5.1.a", exchange=exc.exchange) from exc
    except Exception as exc:
        raise Broken(f"{type(exc).__name__}: {exc}", clause="SR-5.1.a") from exc


def demand(holds: bool, got: str, *, clause: str | None = None, exchange: Exchange | None = None) -> None:
    """Goes on where a clause holds.

    Raises:
        Broken: it does not.
    """
    if not holds:
        raise Broken(got, clause=clause, exchange=exchange)
