"""Random histories of documents, an oracle that keeps every document whole, and a reader with answers alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from hypothesis import strategies as st

from streamres.model import Patch, Position, Reassembler, ResourceLog, Seal, Update, decode_cursor, encode_cursor
from streamres.model.json_value import encode_json, parse_json

from .histories import FIRST_EPOCH, URI, shown
from .json_oracle import Operation, growing, patched, patches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.model import Reading

Json = Any


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done to a document."""

    kind: Literal["patch", "replace", "compact", "seal"]
    patch: list[Operation] = field(default_factory=list)
    value: Json = None
    floor: int = 0
    seal: Seal = "complete"


@dataclass(slots=True)
class Oracle:
    """Every document that the resource ever was, in JSON, with its position."""

    lives: dict[int, list[tuple[Position, bytes]]]
    epoch: int = FIRST_EPOCH
    floor: int = 0
    state: str = "open"

    @property
    def content(self) -> bytes:
        return self.lives[self.epoch][-1][1]

    @property
    def heads(self) -> list[Position]:
        """Every position that there ever was."""
        return [position for life in self.lives.values() for position, _ in life]

    def refusal(self, position: Position) -> str | None:
        if position.epoch != self.epoch:
            return "epoch"
        return "expired" if position.revision < self.floor else None

    def at(self, position: Position) -> bytes:
        (content,) = [content for known, content in self.lives[position.epoch] if known == position]
        return content


@st.composite
def histories(draw: st.DrawFn, *, replaced: bool = True, max_size: int = 8) -> tuple[Json, list[Step]]:
    """A first document and what is done to it, each patch made for the document that it finds."""
    first = document = draw(growing)
    steps: list[Step] = []
    kinds = ["patch"] * 5 + ["compact"] + ["replace"] * replaced
    for _ in range(draw(st.integers(0, max_size))):
        kind = draw(st.sampled_from(kinds))
        if kind == "compact":
            steps.append(Step("compact", floor=draw(st.integers(0, 9))))
        elif kind == "replace":
            document = draw(growing)
            steps.append(Step("replace", value=document))
        else:
            patch = draw(patches(document, sound=True, max_size=3))
            document = patched(document, patch)
            steps.append(Step("patch", patch))
    if draw(st.booleans()):
        patch = draw(patches(document, sound=True, max_size=2) | st.just([]))
        steps.append(Step("seal", patch, seal=draw(st.sampled_from(("complete", "aborted")))))
    return first, steps


def play(first: Json, steps: list[Step]) -> Iterator[tuple[ResourceLog, Oracle]]:
    """Gives the resource and what is expected of it: new, and after each step."""
    log = ResourceLog(URI, epoch=FIRST_EPOCH, kind="json", content=encode_json(first))
    document = first
    oracle = Oracle({FIRST_EPOCH: [(log.head.position, encode_json(first))]})
    yield log, oracle
    for step in steps:
        match step.kind:
            case "patch" | "seal":
                document = patched(document, step.patch)
                data = json.dumps(step.patch).encode() if step.patch else b""
                log.commit(data, seal=step.seal if step.kind == "seal" else None)
                oracle.lives[oracle.epoch].append((log.head.position, encode_json(document)))
                oracle.state = step.seal if step.kind == "seal" else "open"
            case "replace":
                document = step.value
                oracle.epoch, oracle.floor = oracle.epoch + 1, 0
                log.replace(encode_json(document), epoch=oracle.epoch)
                oracle.lives[oracle.epoch] = [(log.head.position, encode_json(document))]
            case "compact":
                log.compact(step.floor)
                oracle.floor = max(oracle.floor, min(step.floor, log.head.position.revision))
        yield log, oracle


def answer_of(reading: Reading) -> Update:
    """What goes over the wire."""
    step = reading.step
    delta = isinstance(step, Patch)
    return Update(
        kind="json",
        patch=json.loads(step.operations) if isinstance(step, Patch) else None,
        value=None if isinstance(step, Patch) else parse_json(shown(step), max_depth=128),  # type: ignore[arg-type]
        since=encode_cursor(step.start, URI) if isinstance(step, Patch) else None,
        cursor=encode_cursor(step.stop, URI),
        revision=step.stop.revision,
        state=reading.state,
        reset=None if delta else reading.reset,
        digest=reading.digest,
        more=reading.more,
    )


class JsonReader:
    """Shows what its reassembler hands over; `content` is the JSON of the document, None before the first."""

    def __init__(self) -> None:
        self.reassembler = Reassembler(URI)
        self.content: bytes | None = None

    @property
    def known(self) -> tuple[bytes | None, str | None, str]:
        return self.content, self.reassembler.cursor, self.reassembler.state

    def take(self, answer: Update) -> str:
        if answer.since is not None:
            outcome: str = self.reassembler.delta(answer)
            if outcome == "applied":
                self.content = encode_json(self.reassembler.with_value(answer).value)
            return outcome
        self.content = encode_json(self.reassembler.snapshot(answer).value)
        return "snapshot"

    def catch_up(self, log: ResourceLog, *, max_bytes: int | None = None, append_op: bool = True) -> None:
        for _ in range(1_000):
            cursor = self.reassembler.cursor
            since = None if cursor is None else decode_cursor(cursor, URI)
            answer = answer_of(log.read(since, max_bytes=max_bytes, append_op=append_op))
            self.take(answer)
            if not answer.more:
                return
        raise AssertionError("the reader reads for ever")
