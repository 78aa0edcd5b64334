"""Tasks in stores that outlive a server: a file, and a NATS stream that two servers share."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from requirement import requirement
from server.wire import http_client
from store.nats_server import empty_stream

from streamres import Server
from streamres.store.nats import NatsStore
from streamres.store.sqlite import SqliteStore
from streamres.tools import Context, Elicit

from .caller import ELICITS, TAKES_TASKS, Caller, both, calling, streams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.store import Store

SERVER = """
import sys, anyio
from streamres import Server
from streamres.sources.lease import seal_what_is_left
from streamres.store.sqlite import SqliteStore
from streamres.tools import Context

async def main(path):
    async with SqliteStore.open(path) as store:
        await seal_what_is_left(store, store.path)
        server = Server("killed", store=store)

        @server.tool(task_after_s=0)
        async def work(context: Context) -> str:
            log = await context.text()
            await log.append("so far\\n")
            await context.progress(1, 2, "half")
            await anyio.sleep_forever()

        async with server.serve(port=0) as url:
            print(url, flush=True)
            await anyio.sleep_forever()

anyio.run(main, sys.argv[1])
"""
CAN = both(streams(), TAKES_TASKS)
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def asking(store: Store) -> Server:
    server = Server("test", store=store)

    @server.tool(task_after_s=0)
    async def greet(context: Context) -> str:
        log = await context.text()
        answer = await context.ask("name", Elicit(message="Name?", schema=NAME))
        await log.append("asked\n")
        return f"Hello, {answer['content']['name']}!"

    return server


@requirement("SR-4.2")
async def test_a_task_is_known_in_a_file_after_its_server(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "store.db") as store, calling(asking(store)) as caller:
        task = (await caller.call("greet", {}, both(CAN, ELICITS))).result
        response = {"action": "accept", "content": {"name": "Bo"}}
        said = {"taskId": task["taskId"], "inputResponses": {"name": response}}
        await caller.ask("tasks/update", said, CAN)
        await caller.until(task["taskId"], "completed")
    assert not list(tmp_path.glob("*.producer-*"))

    async with SqliteStore.open(tmp_path / "store.db") as store, calling(asking(store)) as caller:
        known = await caller.task(task["taskId"], CAN)
        assert known["result"]["content"][0]["text"] == "Hello, Bo!"
        assert await caller.whole(known["outputs"][0]["uri"]) == "asked\n"


@requirement("SR-3.4.a")
async def test_a_server_that_is_killed_leaves_a_task_that_has_failed_and_an_output_that_is_aborted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    async with http_client() as http:
        with serving(path) as url:
            caller = Caller(url, http)
            task = (await caller.call("work", {}, CAN)).result
            while "statusMessage" not in await caller.task(task["taskId"]):
                pass
        with serving(path) as url:
            caller = Caller(url, http)
            known = await caller.task(task["taskId"], CAN)
            assert (known["status"], known["error"]["code"], "statusMessage" in known) == ("failed", -32603, False)
            read = await caller.read(known["outputs"][0]["uri"])
            assert (read["contents"][0]["text"], read["state"]) == ("so far\n", "aborted")


@contextmanager
def serving(path: Path) -> Iterator[str]:
    """Serves what is kept at `path` from a process that is killed in the end."""
    with subprocess.Popen([sys.executable, "-c", SERVER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@requirement("SR-4.2")
async def test_any_server_of_a_stream_answers_for_a_task() -> None:
    async with (
        empty_stream("single") as address,
        NatsStore.open(address) as store,
        NatsStore.open(address) as other,
        calling(asking(store)) as one,
        calling(asking(other)) as two,
    ):
        with anyio.fail_after(20):
            task_id = (await one.call("greet", {}, both(CAN, ELICITS))).result["taskId"]
            while (await two.ask("tasks/get", {"taskId": task_id}, CAN)).status != 200:
                await anyio.sleep(0.01)
            asked = await two.until(task_id, "input_required")
            assert list(asked["inputRequests"]) == ["name"]
            response = {"action": "accept", "content": {"name": "Bo"}}
            said = {"taskId": task_id, "inputResponses": {"name": response}}
            await two.ask("tasks/update", said, CAN)
            done = await two.until(task_id, "completed")
            assert done["result"]["content"][0]["text"] == "Hello, Bo!"
