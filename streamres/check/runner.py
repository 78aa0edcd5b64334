"""Runs every check in every variant and gives one finding a clause."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio

from streamres.check import sections
from streamres.check.bench import Bench
from streamres.check.binding import BINDINGS, READ_MEMBERS, in_meta, in_open, place
from streamres.check.clauses import clauses
from streamres.check.content import KINDS
from streamres.check.exchange import short
from streamres.check.finding import Broken, Finding, NotOffered, NotTested
from streamres.check.unseen import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from streamres.check.binding import Binding
    from streamres.check.clauses import Clause
    from streamres.check.content import Kind
    from streamres.check.exchange import Exchange
    from streamres.check.finding import Status
    from streamres.check.registry import Check
    from streamres.check.stage import Stage

_NO_CHECK: Final = "nothing on the wire shows it"


@dataclass(slots=True)
class _Seen:
    """What the variants of the checks of one clause showed."""

    passed: dict[str, tuple[Exchange, ...]] = field(default_factory=dict)
    failed: dict[str, tuple[str, tuple[Exchange, ...]]] = field(default_factory=dict)
    not_offered: dict[str, str] = field(default_factory=dict)
    not_tested: dict[str, str] = field(default_factory=dict)


async def check(
    stage: Stage, *, only: Sequence[str] = (), progress: Callable[[str], None] = lambda _: None
) -> list[Finding]:
    """Gives the findings, sorted by clause; `only` are the clauses wanted, as `SR-5`, `SR-5.5` or `SR-5.5.a`.

    A check that fails or crashes is a finding; nothing is raised.
    """
    seen: defaultdict[str, _Seen] = defaultdict(_Seen)
    offered = await _offered_bindings(stage)
    for one in sections.CHECKS:
        if not any(wanted(name, only) for name in one.clauses):
            continue
        progress(", ".join(one.clauses))
        for binding, kind in _variants(one, stage, offered, seen):
            await _run(one, Bench(stage, binding, kind), seen)
    return [
        _finding(clause, seen[name])
        for name, clause in clauses().items()
        if wanted(name, only) or seen[name].failed
    ]


def wanted(name: str, only: Sequence[str]) -> bool:
    """Says whether a clause is among those that are wanted; none named is all."""
    whole = f"{name}.".replace("-", ".").lower()
    return not only or any(whole.startswith(f"{part}.".replace("-", ".").lower()) for part in only)


async def _offered_bindings(stage: Stage) -> dict[Binding, str | None]:
    """The bindings that the server answers in; for one that it does not, why that is thought."""
    why: dict[Binding, str | None] = dict.fromkeys(BINDINGS)
    try:
        listed = await stage.listed()
        uri = listed[0].uri if listed else stage.uris[0] if stage.uris else None
        if uri is None and stage.writer.writes:
            uri = (await Bench(stage, "fields", _offered_kinds(stage)[0]).fresh(1)).uri
        if uri is None:
            return why
        params = place("meta", {"uri": uri}, {"maxBytes": 1})
        result = (await stage.session.ask("resources/read", params)).result
    except Exception:
        return why  # whatever it was, a check says it better
    if in_meta(result) is None and not in_open(result, READ_MEMBERS):
        why["meta"] = "the server does not answer in the binding meta"
    return why


def _offered_kinds(stage: Stage) -> list[Kind]:
    declared = stage.settings.get("kinds")
    kinds = [kind for kind in KINDS if isinstance(declared, list) and kind in declared]
    return kinds or list(KINDS[:1])


def _variants(
    one: Check, stage: Stage, offered: dict[Binding, str | None], seen: dict[str, _Seen]
) -> Iterator[tuple[Binding, Kind]]:
    kinds = [kind for kind in _offered_kinds(stage) if kind in one.kinds]
    missing = [kind for kind in one.kinds if kind not in kinds]
    if missing and (one.every_kind or not kinds):
        for name in one.clauses:
            seen[name].not_offered[" ".join(missing)] = f"the server does not offer the kind {', '.join(missing)}"
    for binding in one.bindings:
        if (why := offered[binding]) is not None:
            for name in one.clauses:
                seen[name].not_offered[binding] = why
            continue
        for kind in kinds if one.every_kind else kinds[:1]:
            yield binding, kind


async def _run(one: Check, bench: Bench, seen: dict[str, _Seen]) -> None:
    variant = f"{bench.binding} {bench.kind}"
    log = bench.session.log
    log.clear()
    try:
        with anyio.fail_after(bench.stage.waits.check_s):
            await one.run(bench)
    except Exception as exc:
        _note(one, bench, variant, _leaf(exc), seen)
    else:
        for name in one.clauses:
            seen[name].passed[variant] = tuple(log)


def _note(one: Check, bench: Bench, variant: str, exc: Exception, seen: dict[str, _Seen]) -> None:
    log = bench.session.log
    match exc:
        case NotOffered():
            for name in one.clauses:
                seen[name].not_offered[variant] = str(exc)
        case NotTested():
            for name in one.clauses:
                seen[name].not_tested[variant] = str(exc)
        case Broken():
            _blame(one, exc, variant, log, seen)
        case TimeoutError():
            _blame(one, Broken(f"no end within {bench.stage.waits.check_s:g} s"), variant, log, seen)
        case _:
            # What the server sent made the check stumble: that is what it sent, and not ours to hide.
            last = short(log[-1].got[-1]) if log and log[-1].got else "nothing"
            _blame(one, Broken(f"{type(exc).__name__}: {exc}, after {last}"), variant, log, seen)


def _leaf(exc: Exception) -> Exception:
    """The fault itself, where a task group has wrapped it."""
    while isinstance(exc, ExceptionGroup):
        exc = exc.exceptions[0]
    return exc


def _blame(one: Check, broken: Broken, variant: str, log: Iterable[Exchange], seen: dict[str, _Seen]) -> None:
    """Puts a fault where it belongs: a check that stumbles over another clause shows nothing of its own."""
    rest = [exchange for exchange in log if exchange is not broken.exchange]
    exchanges = (*rest, broken.exchange) if broken.exchange is not None else tuple(rest)
    blamed = one.clauses if broken.clause is None else (broken.clause,)
    for name in blamed:
        seen[name].failed.setdefault(variant, (broken.got, exchanges))
    for name in one.clauses:
        if name not in blamed:
            seen[name].not_tested[variant] = f"{broken.clause} is broken: {broken.got}"


def _finding(clause: Clause, seen: _Seen) -> Finding:
    def made(
        status: Status, detail: str, variants: Iterable[str] = (), exchanges: tuple[Exchange, ...] = ()
    ) -> Finding:
        return Finding(
            clause=clause.id, status=status, detail=detail, variants=tuple(variants), exchanges=exchanges
        )

    if seen.failed:
        got, exchanges = next(iter(seen.failed.values()))
        return made("warn" if clause.level == "SHOULD" else "fail", got, seen.failed, exchanges)
    if seen.passed:
        return made("pass", "", seen.passed, next(iter(seen.passed.values())))
    if seen.not_tested:
        return made("not tested", next(iter(seen.not_tested.values())), seen.not_tested)
    if seen.not_offered:
        return made("not offered", next(iter(seen.not_offered.values())), seen.not_offered)
    return made("not tested", UNSEEN.get(clause.id, _NO_CHECK))


def summary(findings: Iterable[Finding]) -> dict[Status, int]:
    """Gives how many findings there are of each status."""
    counts: dict[Status, int] = {"pass": 0, "fail": 0, "warn": 0, "not offered": 0, "not tested": 0}
    for finding in findings:
        counts[finding.status] += 1
    return counts


def as_json(finding: Finding) -> dict[str, Any]:
    """Gives a finding for the machine-readable report, with its exact exchanges."""
    clause = clauses()[finding.clause]
    return {
        "clause": clause.id,
        "level": clause.level,
        "status": finding.status,
        "sentence": clause.sentence,
        "detail": finding.detail,
        "variants": list(finding.variants),
        "exchanges": [exchange.as_json() for exchange in finding.exchanges],
    }
