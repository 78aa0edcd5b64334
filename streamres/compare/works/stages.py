"""The stages of a build as a document: nodes that depend on one another, start, and finish one by one."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from streamres.carriers.content import Patch
from streamres.compare.works.work import Work

_LAYERS: Final = (("fetch", 2), ("compile", 6), ("test", 8), ("package", 2), ("publish", 1))


def stages(seed: int) -> Work:
    """Gives 19 nodes in five layers; each is pending, running, then done, and one of them is tried twice."""
    random = Random(f"stages {seed}")
    nodes: dict[str, dict[str, Any]] = {}
    before: list[str] = []
    for layer, count in _LAYERS:
        names = [f"{layer}-{number}" for number in range(count)]
        for name in names:
            after = sorted(random.sample(before, min(len(before), 2)))
            nodes[name] = {"state": "pending", "after": after, "tries": 0, "notes": []}
        before = names
    retried = random.choice([name for name in nodes if name.startswith("test")])
    made: list[tuple[float, list[dict[str, Any]]]] = []
    ends: dict[str, float] = {}
    for name, node in nodes.items():
        at = max((ends[other] for other in node["after"]), default=0.0) + random.uniform(0.05, 0.4)
        tries = ("failed", "done") if name == retried else ("done",)
        for number, outcome in enumerate(tries, 1):
            took = random.uniform(0.4, 6.0)
            made.append((at, [_set(name, "state", "running"), _set(name, "tries", number)]))
            note = f"{random.randrange(1, 400)} files, {random.randrange(1, 90)} from the cache"
            made.append((at + took * 0.6, [{"op": "add", "path": f"/nodes/{name}/notes/-", "value": note}]))
            done = [_set(name, "state", outcome), _set(name, "tookMs", round(took * 1000), op="add")]
            made.append((at + took, done))
            at += took + 0.2
        ends[name] = at - 0.2
    made.sort(key=lambda change: change[0])
    end_at = made[-1][0] + 0.2
    made.append((end_at, [{"op": "replace", "path": "/state", "value": "complete"}]))
    return Work(
        id="stages",
        title="Stages of a build, a document that is patched",
        kind="json",
        changes=[Patch(operations) for _, operations in made],
        at=[at for at, _ in made],
        end_at=end_at + 0.1,
        document={"build": 7, "state": "running", "nodes": nodes},
    )


def _set(name: str, member: str, value: object, *, op: str = "replace") -> dict[str, Any]:
    return {"op": op, "path": f"/nodes/{name}/{member}", "value": value}
