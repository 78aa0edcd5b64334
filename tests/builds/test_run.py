"""Runs under races and faults: two at once, callers that go, what is left of a group, a store that is slow."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from requirement import requirement

from streamres import Limits, Server
from streamres.builds import offer_builds
from streamres.builds.config import Build
from streamres.builds.run import Run
from streamres.errors import ToolError
from streamres.store import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from streamres.builds.tools import Builds
    from streamres.model import Description, Entry, Head

IGNORING = "trap '' TERM; echo $$; while :; do sleep 100; done"
# Ended itself at once by SIGTERM, with a child that takes a moment to clean up.
CLEANING = """
import os, signal, time
if os.fork() == 0:
    signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.2), print("cleaned up", flush=True), os._exit(0)))
    print("ready", flush=True)
    while True: time.sleep(100)
while True: time.sleep(100)
"""


class Caller:
    """What a tool is given of a host that has nothing but tools."""

    takes_tasks = False

    async def link(self, log: object) -> None:
        pass


class SlowStore(MemoryStore):
    """One that takes as long as it is told to."""

    def __init__(self) -> None:
        super().__init__(Limits())
        self.goes = anyio.Event()
        self.asked = anyio.Event()

    async def create(self, description: Description, content: bytes = b"") -> Head:
        self.asked.set()
        await self.goes.wait()
        return await super().create(description, content)


def offered(tmp_path: Path, *command: str, store: MemoryStore | None = None) -> tuple[Server, Builds]:
    server = Server("test", store=store)
    return server, offer_builds(server, [Build(name="b", command=command, cwd=tmp_path)])


async def begun(builds: Builds, **given: object) -> Run:
    result = await builds.run(Caller(), {"name": "b", "wait_s": 0, **given})  # type: ignore[arg-type]
    return builds._runs[result.structured["uri"]]  # type: ignore[index]


async def stands(server: Server, run: Run) -> Entry:
    return await server.store.entry(run.uri)


async def text_of(server: Server, run: Run) -> str:
    return b"".join((await server.store.read(run.uri)).step.slices()).decode()


async def until(server: Server, run: Run, length: int) -> None:
    """Returns once the log has so many bytes."""
    with anyio.fail_after(10), server.store.watch([run.uri]) as watch:
        while (await stands(server, run)).head.position.length < length:
            await watch.wait()
            watch.take()


async def gone(group: int) -> None:
    """Returns when nothing is in a process group; the last of it is buried by the system, a little later."""
    with anyio.fail_after(5), suppress(ProcessLookupError):
        while True:
            os.killpg(group, 0)
            await anyio.sleep(0.01)


async def test_of_two_that_come_at_once_one_is_refused(tmp_path: Path) -> None:
    store = SlowStore()
    server, builds = offered(tmp_path, "sleep", "100", store=store)

    async with asyncio.TaskGroup() as tasks:
        one = tasks.create_task(begun(builds))
        await store.asked.wait()  # its log is not there yet
        with pytest.raises(ToolError, match="b runs already, 1 of 1"):
            await begun(builds)
        store.goes.set()

    await builds.end_all()
    assert ((await one).state, (await stands(server, one.result())).head.state) == ("cancelled", "aborted")


async def test_a_caller_that_goes_before_there_is_a_log_leaves_nothing_open(tmp_path: Path) -> None:
    store = SlowStore()
    server, builds = offered(tmp_path, "touch", "made", store=store)
    calling = asyncio.create_task(begun(builds))
    await store.asked.wait()

    calling.cancel()
    await asyncio.sleep(0)
    store.goes.set()
    with pytest.raises(asyncio.CancelledError):
        await calling

    (run,) = builds._runs.values()
    assert (run.state, (await stands(server, run)).head.state) == ("cancelled", "aborted")
    assert not (tmp_path / "made").exists(), "the command was never started"


async def test_two_that_stop_it_at_once_stop_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamres.builds.group.STOP_S", 0.2)
    server, builds = offered(tmp_path, "sh", "-c", IGNORING)
    run = await begun(builds)
    await until(server, run, 1)
    group = int(await text_of(server, run))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(builds.cancel, run.uri)
            tasks.start_soon(builds.end_all)

    await gone(group)
    assert (run.state, run.exit_code) == ("cancelled", 137)
    assert (await stands(server, run)).head.state == "aborted"


@requirement("SR-8.3.a")
async def test_what_is_in_the_group_has_its_time_to_clean_up_though_the_command_has_ended(tmp_path: Path) -> None:
    server, builds = offered(tmp_path, sys.executable, "-c", CLEANING)
    run = await begun(builds)
    await until(server, run, len("ready\n"))

    with anyio.fail_after(10):
        await builds.cancel(run.uri)

    assert (await text_of(server, run), run.exit_code) == ("ready\ncleaned up\n", 143)


async def test_what_a_command_leaves_in_its_group_is_ended_with_it(tmp_path: Path) -> None:
    server, builds = offered(tmp_path, "sh", "-c", "sleep 1000 & echo $$")

    run = await begun(builds, wait_s=10)

    assert (run.state, run.exit_code, (await stands(server, run)).head.state) == ("ended", 0, "complete")
    await gone(int(await text_of(server, run)))


async def test_what_left_the_group_holds_nothing_up(tmp_path: Path) -> None:
    server, builds = offered(tmp_path, "sh", "-c", "setsid sleep 3 & echo done")

    with anyio.fail_after(2.5):
        run = await begun(builds, wait_s=10)

    assert (await text_of(server, run), run.exit_code) == ("done\n", 0)


@requirement("SR-8.3.a")
async def test_a_command_that_a_signal_ended_has_not_said_all(tmp_path: Path) -> None:
    server, builds = offered(tmp_path, "sh", "-c", "echo half; kill -9 $$")

    result = await builds.run(Caller(), {"name": "b"})  # type: ignore[arg-type]

    (run,) = builds._runs.values()
    assert (result.is_error, run.exit_code, (await stands(server, run)).head.state) == (True, 137, "aborted")
    assert result.content[0].text.startswith("b failed: killed by signal 9, after ")  # type: ignore[union-attr]


@requirement("SR-3.4.a")
async def test_a_log_that_is_complete_has_every_byte_though_the_store_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamres.builds.run.DRAIN_S", 0.05)
    server, builds = offered(tmp_path, "head", "-c", "3000000", "/dev/zero")
    append = server.store.append

    async def slowly(uri: str, data: bytes, **more: object) -> Head:
        await anyio.sleep(0.1)  # twice as long as children are heard
        return await append(uri, data, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(server.store, "append", slowly)

    run = await begun(builds, wait_s=30)

    head = (await stands(server, run)).head
    assert (run.exit_code, head.state, head.position.length) == (0, "complete", 3_000_000)


async def test_a_log_that_cannot_be_made_is_an_error_and_takes_no_place(tmp_path: Path) -> None:
    server, builds = offered(tmp_path, "true", store=MemoryStore(Limits(resources=1)))
    await server.create("build://other/log")

    for _ in range(2):
        with pytest.raises(ToolError, match="resources = 1"):
            await begun(builds)


async def test_the_answer_of_a_build_that_goes_on_has_the_cursor_to_read_on_from(tmp_path: Path) -> None:
    _, builds = offered(tmp_path, "sh", "-c", "echo one; read x < go; echo two")
    os.mkfifo(tmp_path / "go")
    run = await begun(builds)
    first = await builds.read(run.uri, wait_ms=10_000)  # waits at the beginning, too
    answer: Any = first.structured
    assert (answer["text"], answer["state"]) == ("one\n", "open")
    await asyncio.to_thread((tmp_path / "go").write_text, "go\n")
    await run.wait(10)

    rest: Any = (await builds.read(run.uri, answer["cursor"])).structured

    assert (rest["text"], rest["state"], rest["more"]) == ("two\n", "complete", False)
    told: Any = (await builds.cancel(run.uri)).structured
    assert (told["state"], told["tail"], told["cursor"]) == ("ended", "one\ntwo\n", rest["cursor"])


async def test_a_document_that_somebody_calls_a_build_is_no_log_of_one(tmp_path: Path) -> None:
    server, builds = offered(tmp_path, "true")
    await server.create("build://b/document", kind="json")

    with pytest.raises(ToolError, match="no resource"):
        await builds.read("build://b/document")
