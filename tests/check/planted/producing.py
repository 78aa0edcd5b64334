"""Sections 9, 12 and 13: appends, limits, errors."""

from __future__ import annotations

from check.tampering import Fault, Json

from .plant import (
    Planted,
    any_answer,
    errors,
    takes,
    uploads,
)


def unnumbered(query: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return {name: query[name] for name in query if name not in ("producer", "epoch", "seq")}, body


def any_revision(query: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return {name: query[name] for name in query if name != "revision"}, body


def repeats_refused_after_the_seal() -> Fault:
    class Refusing(Fault):
        def __init__(self) -> None:
            self.sealed: set[str] = set()

        def taken(self, query: dict[str, str], status: int, answer: Json) -> tuple[int, Json]:
            uri = query.get("uri", "")
            if uri in self.sealed:
                data = {"reason": "sealed", "uri": uri, "state": "complete"}
                return 409, {"error": {"code": -32602, "message": "sealed", "data": data}}
            if "seal" in query:
                self.sealed.add(uri)
            return status, answer

    return Refusing()


def crash(request: Json, answer: Json) -> None:
    answer["error"] = {"code": -32603, "message": "internal error"}


def internal(request: Json, answer: Json) -> None:
    answer["error"]["code"] = -32000


def nameless(request: Json, answer: Json) -> Json:
    if answer.get("error", {}).get("data", {}).get("reason") == "limit":
        answer["error"]["data"] = {"reason": "limit"}
    return answer


FAULTS = [
    Planted("a repeat is applied twice", uploads(unnumbered), "SR-9.1.b"),
    Planted("other bytes under the same number are taken", takes("conflict"), "SR-9.1.c"),
    Planted("a gap is taken", uploads(unnumbered), "SR-9.1.d"),
    Planted("an older epoch is taken", uploads(unnumbered), "SR-9.1.e"),
    Planted("any revision is taken", uploads(any_revision), "SR-9.2.b"),
    Planted("a write after the seal is acknowledged", takes("sealed"), "SR-9.3.a"),
    Planted("a repeat after the seal is refused", repeats_refused_after_the_seal, "SR-9.3.b"),
    Planted("a hostile cursor is a crash", errors(crash), "SR-12.2"),
    Planted("a limit without a name", any_answer(nameless), "SR-12.3.b"),
    Planted("an error of another code", errors(internal), "SR-13.1"),
]
