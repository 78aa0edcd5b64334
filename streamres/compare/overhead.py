"""What the comparison itself costs: so that nobody takes it for a carrier's cost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import anyio
import httpx2

from streamres.carriers import URI, Reach, carriers
from streamres.carriers.content import Append
from streamres.carriers.serving import PATH
from streamres.compare.cell import run_cell
from streamres.compare.faults import FAULTS
from streamres.compare.process import ServerProcess
from streamres.compare.proxy import proxying
from streamres.compare.server import Spec
from streamres.compare.works import Work

_READS: Final = 300
_CHANGES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """What was measured, here and now."""

    proxy_ms: float
    """What the proxy adds to one request and its answer, at the median."""
    change_ms: float
    """What a change of a work takes that nobody is told of."""


async def measure() -> Overhead:
    """Measures it; to be called in a `quiet.WatchedLoop`."""
    proxy_ms = await _proxy()
    few, many = await _run(1), await _run(1 + _CHANGES)
    return Overhead(proxy_ms=proxy_ms, change_ms=max(0.0, many - few) / _CHANGES * 1000)


async def _run(count: int) -> float:
    """Seconds that a work of so many changes takes of which nobody is told."""
    work = Work(
        id="empty",
        title="Nothing",
        kind="text",
        changes=[Append("")] * count,
        at=[float(index) for index in range(count)],
        end_at=float(count),
    )
    return (await run_cell(carriers()["final-only"], work, FAULTS["none"], seed=0, speed=None)).real_s


async def _proxy() -> float:
    """What the proxy adds to a request, in milliseconds at the median."""
    with TemporaryDirectory(prefix="streamres-compare-") as folder:
        server = await ServerProcess.start(
            Spec(carrier=carriers()["reread"], kind="text", begin="", changes=[], count=0, keep=Path(folder))
        )
        try:
            async with proxying(PATH) as proxy, httpx2.AsyncClient(timeout=None) as http:
                proxy.target = server.port
                took: dict[str, list[float]] = {f"http://127.0.0.1:{server.port}{PATH}": [], proxy.url: []}
                reaches = {url: Reach(url, http, anyio.sleep) for url in took}
                for _ in range(_READS):
                    for url, reach in reaches.items():
                        begin = time.perf_counter()
                        await reach.request("resources/read", {"uri": URI})
                        took[url].append(time.perf_counter() - begin)
        finally:
            server.kill()
    direct, by_proxy = map(median, took.values())
    return (by_proxy - direct) * 1000
