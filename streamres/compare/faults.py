"""The faults: at which change of a work what is done to link, server or reader. The same for every carrier.

A drop, reordering or doubling takes the first message that a change brings, whatever the carrier makes of changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

Act = Literal["drop", "hold", "double", "cut", "close", "open", "kill", "start", "join"]
"""`drop`, `hold`, `double` and `cut` are for the next message; `close` refuses connections until `open`; `kill` is
SIGKILL for the server process, `start` starts another; `join` starts the reader."""

DOWN: Final = 3
"""Changes that are made while the link is cut or the server is down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is done before which change, counted from 1."""

    acts: Mapping[int, tuple[Act, ...]] = field(default_factory=dict)
    joins_late: bool = False

    @property
    def hit(self) -> list[int]:
        """The changes at which something begins to go wrong."""
        return sorted(at for at, acts in self.acts.items() if not {"open", "start", "join"} & set(acts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong."""

    id: str
    title: str
    plan: Callable[[int, Random], Plan]
    """Gives the plan for so many changes."""


def _some(count: int, random: Random, *, last: int) -> list[int]:
    """About one change in twelve, no two in a row, and the last that can be hit: there nothing follows."""
    picked = {last}
    for at in random.sample(range(2, last), k=last - 2):
        if len(picked) > max(2, count // 12):
            break
        if not picked & {at - 1, at, at + 1}:
            picked.add(at)
    return sorted(picked)


def _each(act: Act, *, before_last: int = 0) -> Callable[[int, Random], Plan]:
    def plan(count: int, random: Random) -> Plan:
        return Plan(acts=dict.fromkeys(_some(count, random, last=count - before_last), (act,)))

    return plan


def _once(*begin: Act, end: Act) -> Callable[[int, Random], Plan]:
    def plan(count: int, random: Random) -> Plan:
        at = random.randrange(count // 4, count * 3 // 4)
        return Plan(acts={at: begin, at + DOWN: (end,)})

    return plan


FAULTS: Final[Mapping[str, Fault]] = {
    fault.id: fault
    for fault in (
        Fault(id="none", title="nothing goes wrong", plan=lambda _count, _random: Plan()),
        Fault(id="dropped", title="messages are dropped, the last change's too", plan=_each("drop")),
        Fault(id="reordered", title="messages come after the one that follows", plan=_each("hold", before_last=1)),
        Fault(id="doubled", title="messages come twice", plan=_each("double")),
        Fault(
            id="cut",
            title="the connection is cut in a message, and can be opened again three changes later",
            plan=_once("cut", "close", end="open"),
        ),
        Fault(
            id="restart",
            title="the server is killed, and there again three changes later",
            plan=_once("kill", end="start"),
        ),
        Fault(
            id="late",
            title="the reader comes at half time",
            plan=lambda count, _random: Plan(acts={count // 2: ("join",)}, joins_late=True),
        ),
    )
}
