"""`resources/read`: 1 KB, 1 MB, and the last 1 KB of 1 MB as a delta."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from benchmarks import wire
from benchmarks.contestants import DEFAULT, JSON, OURS
from benchmarks.load import WrongAnswer, load
from benchmarks.plan import KB, MB
from benchmarks.process import running
from benchmarks.row import Contender, Row, ratio_row, take_turns
from benchmarks.text import log_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from benchmarks.load import Load
    from benchmarks.plan import Plan
    from benchmarks.process import ServerProcess

_SMALL: Final = "bench://small"
_LARGE: Final = "bench://large"
_SMALL_SIZES: Final = [KB]
_LARGE_SIZES: Final = [MB - KB, KB]
"""Two appends: the delta is the second."""


def measure(plan: Plan) -> Iterator[Row]:
    """Gives the three rows."""
    with running(OURS, JSON, DEFAULT) as servers:
        for server in servers:
            server.tell("text", _SMALL, sizes=_SMALL_SIZES)
        cursors = [server.tell("text", _LARGE, sizes=_LARGE_SIZES)["cursors"] for server in servers]

        small = [load(server, wire.read(_SMALL), partial(_check_whole, _SMALL_SIZES)) for server in servers]
        yield _row("read of 1 KB", servers, small, plan.small_reads, plan.rounds, barred=True)

        large = [load(server, wire.read(_LARGE), partial(_check_whole, _LARGE_SIZES)) for server in servers]
        yield _row("read of 1 MB", servers, large, plan.large_reads, plan.rounds)

        deltas = [_delta(server, *pair) for server, pair in zip(servers, cursors, strict=True)]
        yield _row("delta of 1 KB out of 1 MB", servers, deltas, plan.small_reads, plan.rounds)


def _row(
    name: str,
    servers: list[ServerProcess],
    loads: Sequence[AbstractContextManager[Load]],
    count: int,
    rounds: int,
    *,
    barred: bool = False,
) -> Row:
    with ExitStack() as stack:
        senders = [stack.enter_context(load) for load in loads]
        contenders = [
            Contender(server, partial(sender.send, count)) for server, sender in zip(servers, senders, strict=True)
        ]
        take_turns(contenders, rounds)
    ours, json, default = contenders
    return ratio_row(name, ours, json=json, default=default, barred=barred)


def _delta(server: ServerProcess, since: str, head: str) -> AbstractContextManager[Load]:
    if server.contestant is OURS:
        return load(server, wire.read(_LARGE, since=since), partial(_check_delta, since, head))
    request = wire.read(_LARGE, _meta={wire.CURSOR_META: since})
    return load(server, request, partial(_check_delta_in_meta, head))


def _check_whole(sizes: list[int], result: dict[str, Any]) -> None:
    _demand(result["contents"][0]["text"] == "".join(map(log_text, sizes)), result)


def _check_delta(since: str, head: str, result: dict[str, Any]) -> None:
    delta = result["delta"]
    _demand((delta["from"], delta["to"], delta["text"]) == (since, head, log_text(KB)), result)


def _check_delta_in_meta(head: str, result: dict[str, Any]) -> None:
    _demand((result["_meta"][wire.CURSOR_META], result["contents"][0]["text"]) == (head, log_text(KB)), result)


def _demand(right: bool, result: dict[str, Any]) -> None:
    if not right:
        raise WrongAnswer(str(result)[:2_000])
