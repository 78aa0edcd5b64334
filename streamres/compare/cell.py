"""One cell: one carrier, one work, one fault, run on real sockets between real processes, measured and judged."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import anyio
import httpx2

from streamres.carriers import Reach
from streamres.carriers.serving import PATH
from streamres.compare.clock import PacedClock, StepClock
from streamres.compare.oracle import Verdict, judge
from streamres.compare.process import ServerLost, ServerProcess
from streamres.compare.proxy import proxying
from streamres.compare.quiet import NeverQuiet, quiet
from streamres.compare.server import Spec
from streamres.compare.timeline import Committed, Joined, Shown, Timeline

if TYPE_CHECKING:
    from streamres.carriers import Carrier
    from streamres.compare.faults import Act, Fault, Plan
    from streamres.compare.meter import Meter
    from streamres.compare.proxy import Proxy
    from streamres.compare.works import Work

GRACE_S: Final = 5.0
"""Seconds of the work, after its end, in which a reader may still get the rest."""

_PACED_GRACE_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What came out."""

    carrier: str
    work: str
    fault: str
    changes: int
    payload_bytes: int
    verdict: Verdict | None
    """None where the carrier failed, and then `error` says how."""
    error: str | None
    meter: Meter
    cpu_s: float
    """CPU seconds of the server processes, from when they served."""
    peak_bytes: int
    """The most memory that one of them held."""
    real_s: float
    """How long the cell took."""


async def run_cell(carrier: Carrier, work: Work, fault: Fault, *, seed: int, speed: float | None) -> Cell:
    """Runs one cell; with a `speed` as time goes, so many times as fast, else in steps (see `clock`).

    To be called in a `quiet.WatchedLoop`.
    """
    begin = time.monotonic()
    plan = fault.plan(len(work.changes), Random(f"{seed} {work.id} {fault.id}"))
    error: str | None = None
    with TemporaryDirectory(prefix="streamres-compare-") as folder:
        async with proxying(PATH) as proxy:
            run = _Run(carrier, work, plan, proxy, Path(folder), speed)
            try:
                await run.run()
            except* (NeverQuiet, ServerLost) as exc:
                error = str(exc.exceptions[0])
            except* Exception as exc:  # the boundary: a carrier that fails is one result, not the end of all
                error = "; ".join(f"{type(one).__name__}: {one}" for one in exc.exceptions)
            finally:
                run.kill()
    return Cell(
        carrier=carrier.id,
        work=work.id,
        fault=fault.id,
        changes=len(work.changes),
        payload_bytes=work.payload_bytes,
        verdict=None if error is not None else judge(work, run.timeline, plan.hit),
        error=error,
        meter=proxy.meter,
        cpu_s=run.cpu_ns / 1e9,
        peak_bytes=run.peak_bytes,
        real_s=time.monotonic() - begin,
    )


class _Run:
    def __init__(
        self, carrier: Carrier, work: Work, plan: Plan, proxy: Proxy, folder: Path, speed: float | None
    ) -> None:
        self._carrier = carrier
        self._work = work
        self._plan = plan
        self._proxy = proxy
        self._folder = folder
        self._clock: StepClock | PacedClock = StepClock() if speed is None else PacedClock(speed)
        self._servers: list[ServerProcess] = []
        self._over = anyio.Event()
        """The reader ended by itself."""
        self.timeline = Timeline()
        self.cpu_ns = 0
        self.peak_bytes = 0

    async def run(self) -> None:
        """Runs the work from its beginning to its end, and a little longer for the reader."""
        await self._start(0)
        if isinstance(self._clock, StepClock):
            self._clock.move(0.0)  # what the start took is no time of the work
        async with anyio.create_task_group() as tasks:
            if not self._plan.joins_late:
                tasks.start_soon(self._read)
                await self._settle()
            for count, at in enumerate(self._work.at, 1):
                await self._until(at)
                for act in self._plan.acts.get(count, ()):
                    if act == "join":
                        tasks.start_soon(self._read)
                        await self._settle()
                    else:
                        await self._act(act, count)
                await self._commit(count)
                if self._proxy.armed == "cut":  # nothing passed that could be cut in the middle
                    self._proxy.armed = None
                    self._proxy.cut()
                    await self._settle()
                await self._release(count)
            await self._until(self._work.end_at)
            self._proxy.armed = None
            await self._commit(len(self._work.changes), ended=True)
            await self._proxy.release()
            await self._settle()
            await self._grace()
            tasks.cancel_scope.cancel()

    def kill(self) -> None:
        """Ends every server process."""
        for server in self._servers:
            self.cpu_ns += server.cpu_ns - server.cpu_at_start_ns
            self.peak_bytes = max(self.peak_bytes, server.peak_bytes)
            server.kill()
        self._servers.clear()

    async def _start(self, count: int) -> None:
        work = self._work
        spec = Spec(
            carrier=self._carrier,
            kind=work.kind,
            begin=work.begin,
            changes=work.changes,
            count=count,
            keep=self._folder,
        )
        self._servers.append(await ServerProcess.start(spec))
        self._proxy.target = self._servers[-1].port

    async def _read(self) -> None:
        self.timeline.entries.append(Joined(self._clock.at(time.monotonic())))
        async with httpx2.AsyncClient(timeout=None) as http:
            reach = Reach(self._proxy.url, http, self._clock.sleep, late=self._plan.joins_late)
            async with aclosing(self._carrier.read(reach, self._work.kind)) as seeing:  # type: ignore[type-var]
                async for seen in seeing:
                    at = self._clock.at(time.monotonic())
                    self.timeline.entries.append(Shown(seen, at, self._proxy.meter.bytes_down))
        self._over.set()

    async def _act(self, act: Act, count: int) -> None:
        match act:
            case "drop" | "hold" | "double" | "cut":
                self._proxy.armed = act
            case "close":
                self._proxy.target = None
            case "open":
                self._proxy.target = self._servers[-1].port
            case "kill":
                self._proxy.target = None
                self.kill()
                await self._settle()
            case "start":
                await self._start(count - 1)
            case _:
                raise AssertionError(act)

    async def _commit(self, count: int, *, ended: bool = False) -> None:
        entry = Committed(count, self._clock.at(time.monotonic()), self._proxy.meter.bytes_down)
        self.timeline.entries.append(entry)
        for server in self._servers:
            entry.at = self._clock.at(await server.advance(count, ended=ended))
        await self._settle()

    async def _release(self, count: int) -> None:
        """Lets go what was held back one change ago, where nothing followed on its connection."""
        if "hold" in self._plan.acts.get(count - 1, ()):
            await self._proxy.release()
            await self._settle()

    async def _until(self, at: float) -> None:
        """Lets the time of the work go on, with every sleep that ends on the way."""
        if isinstance(self._clock, PacedClock):
            await self._clock.sleep(max(0.0, at - self._clock.at(time.monotonic())))
            return
        while (due := self._clock.next_due) is not None and due <= at:
            self._clock.move(due)
            await self._settle()
        self._clock.move(at)

    async def _grace(self) -> None:
        if isinstance(self._clock, PacedClock):
            with anyio.move_on_after(_PACED_GRACE_S):
                await self._over.wait()
        elif not self._over.is_set():
            await self._until(self._work.end_at + GRACE_S)

    async def _settle(self) -> None:
        if isinstance(self._clock, StepClock):
            await quiet(self._servers)
