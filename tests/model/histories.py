"""Random histories, and the oracle that says what they lead to: plain Python, no code shared with the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from hypothesis import strategies as st

from streamres.limits import Limits
from streamres.model import Append, Position, ResourceLog, Seal, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

URI = "build://7/log"
FIRST_EPOCH = 1

LETTERS = ("a", "b", " ", "\n", "\r", "\r\n", "\0", "\x1b[1m", "é", "€", "日本", "😀", "👩‍💻", "\u2028", "\ufeff")
texts = st.lists(st.sampled_from(LETTERS), max_size=6).map("".join)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done to a resource."""

    kind: Literal["append", "replace", "compact", "seal"]
    text: str = ""
    floor: int = 0
    seal: Seal = "complete"


@dataclass(slots=True)
class Oracle:
    """Every content that the resource ever had, whole."""

    lives: dict[int, list[bytes]] = field(default_factory=lambda: {FIRST_EPOCH: [b""]})
    """The content at each revision of each epoch."""
    epoch: int = FIRST_EPOCH
    floor: int = 0
    state: str = "open"

    @property
    def content(self) -> bytes:
        return self.lives[self.epoch][-1]

    @property
    def head(self) -> Position:
        return Position(self.epoch, len(self.lives[self.epoch]) - 1, len(self.content))

    def at(self, position: Position) -> bytes:
        return self.lives[position.epoch][position.revision][: position.length]

    def refusal(self, position: Position) -> str | None:
        """Why a head that once was cannot be continued."""
        if position.epoch != self.epoch:
            return "epoch"
        return "expired" if position.revision < self.floor else None

    def apply(self, step: Step) -> None:
        match step.kind:
            case "replace":
                self.epoch += 1
                self.lives[self.epoch] = [step.text.encode()]
                self.floor = 0
            case "compact":
                self.floor = max(self.floor, min(step.floor, self.head.revision))
            case _ if step.text or step.kind == "seal":
                self.lives[self.epoch].append(self.content + step.text.encode())
                self.state = step.seal if step.kind == "seal" else "open"


_appends = st.builds(Step, st.just("append"), texts)
_steps = st.one_of(
    _appends,
    _appends,
    _appends,
    st.builds(Step, st.just("replace"), texts),
    st.builds(Step, st.just("compact"), floor=st.integers(0, 9)),
)
_seals = st.builds(Step, st.just("seal"), texts, seal=st.sampled_from(("complete", "aborted")))
histories: st.SearchStrategy[list[Step]] = st.builds(
    lambda steps, ends: steps + ends, st.lists(_steps, max_size=10), st.lists(_seals, max_size=1)
)


def apply(log: ResourceLog, step: Step) -> None:
    match step.kind:
        case "append":
            log.commit(step.text.encode())
        case "replace":
            log.replace(step.text.encode(), epoch=log.head.position.epoch + 1)
        case "compact":
            log.compact(step.floor)
        case "seal":
            log.commit(step.text.encode(), seal=step.seal)


def play(steps: list[Step]) -> Iterator[tuple[ResourceLog, Oracle]]:
    """Gives the resource and what is expected of it: new, and after each step."""
    log, oracle = new_log(), Oracle()
    yield log, oracle
    for step in steps:
        apply(log, step)
        oracle.apply(step)
        yield log, oracle


def played(steps: list[Step]) -> tuple[ResourceLog, Oracle]:
    return list(play(steps))[-1]


def new_log(*appends: bytes, max_producers: int = 1_000) -> ResourceLog:
    log = ResourceLog(URI, epoch=FIRST_EPOCH, limits=Limits(producers=max_producers))
    for data in appends:
        log.commit(data)
    return log


def shown(step: Append | Snapshot) -> bytes:
    pieces: list[bytes] = []
    for piece in step.slices():
        assert piece, "an empty slice: the walk may never end"
        pieces.append(piece)
    return b"".join(pieces)
