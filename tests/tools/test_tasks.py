"""Calls that become tasks: known before they are answered, told of, cancelled, over."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio
import pytest
from requirement import requirement

from streamres import Limits, ResourceNotFound, RpcError, Server
from streamres.store import MemoryStore, Store
from streamres.tools import Context

from .caller import TAKES_TASKS, TASKS, both, calling, stream_of, streams

WORKING = ("working", "input_required")


def slow(store: Store | None = None, go_on: anyio.Event | None = None, limits: Limits | None = None) -> Server:
    server = Server("test", store=store, limits=limits)

    @server.tool(task_after_s=0)
    async def work(context: Context, name: str = "log") -> str:
        log = await context.text(name)
        await log.append("begun\n")
        await context.progress(1, 2, "half")
        await (go_on or anyio.Event()).wait()
        await log.append("ended\n")
        return "done"

    return server


@requirement("SR-8.2")
@pytest.mark.parametrize("binding", ["fields", "meta"])
async def test_a_task_names_its_outputs_in_every_answer(binding: str) -> None:
    go_on = anyio.Event()

    def outputs(answer: dict[str, Any]) -> list[Any]:
        named: list[Any] = answer["outputs"] if binding == "fields" else stream_of(answer)["outputs"]
        return named

    async with calling(slow(go_on=go_on)) as caller:
        can = both(streams(binding), TAKES_TASKS)
        called = await caller.call("work", {}, can)
        assert called.content_type == "application/json"
        created = called.result
        assert (created["resultType"], created["status"], created["ttlMs"] > 0) == ("task", "working", True)
        (link,) = outputs(created)
        assert (await caller.whole(link["uri"])).startswith("begun\n")
        task = await caller.task(created["taskId"], can)
        assert [link["uri"] for link in outputs(task)] == [link["uri"]]
        assert (task["resultType"], task["statusMessage"]) == ("complete", "half")

        wanted = {"notifications": {"taskIds": [created["taskId"], "unknown"]}}
        with anyio.fail_after(5):
            async with caller.begin("subscriptions/listen", wanted, can) as (_, messages):
                acknowledged = (await anext(messages))["params"]["notifications"]
                assert acknowledged == {"taskIds": [created["taskId"]]} | (
                    {"resourceStreams": {}} if binding == "fields" else {}
                )
                assert (await anext(messages))["params"]["status"] == "working"
                go_on.set()
                async for message in messages:
                    if message["params"]["status"] == "completed":
                        break
        assert outputs(message["params"])[0]["uri"] == link["uri"]
        assert message["params"]["result"]["content"][0]["text"] == "done"
        assert await caller.whole(link["uri"]) == "begun\nended\n"


async def test_what_a_client_did_not_declare_it_does_not_get() -> None:
    server = slow()

    @server.tool(task_required=True)
    async def only_task() -> str:
        return "done"

    async with calling(server) as caller:
        required = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        for called in (
            await caller.call("only_task"),
            await caller.ask("tasks/get", {"taskId": "x"}),
            await caller.ask("subscriptions/listen", {"notifications": {"taskIds": ["x"]}}),
        ):
            assert (called.status, called.error["code"], called.error["data"]) == (400, -32021, required)
        task = (await caller.call("only_task", {}, TAKES_TASKS)).result
        assert task["resultType"] == "task"
        assert "outputs" not in task


async def test_an_error_of_a_tool_is_that_of_its_task() -> None:
    server = Server("test")

    @server.tool(task_after_s=0)
    async def fails() -> str:
        raise RpcError(-32050, "broken", {"part": 3})

    async with calling(server) as caller:
        task_id = (await caller.call("fails", {}, TAKES_TASKS)).result["taskId"]
        task = await caller.until(task_id, "failed")
        assert task["error"] == {"code": -32050, "message": "broken", "data": {"part": 3}}
        assert "result" not in task


@requirement("SR-3.4.a")
async def test_a_task_is_cancelled_through_any_server_of_its_store() -> None:
    store = MemoryStore()
    async with calling(slow(store)) as one, calling(slow(store)) as two:
        can = both(streams(), TAKES_TASKS)
        task = (await one.call("work", {}, can)).result

        assert (await two.task(task["taskId"]))["status"] == "working"
        assert set((await two.ask("tasks/cancel", {"taskId": task["taskId"]}, can)).result) == {
            "resultType",
            "_meta",
        }
        assert "error" not in await two.until(task["taskId"], "cancelled")
        read = await two.read(task["outputs"][0]["uri"])
        assert (read["contents"][0]["text"], read["state"]) == ("begun\n", "aborted")
        assert (await two.ask("tasks/cancel", {"taskId": task["taskId"]}, can)).result["resultType"] == "complete"


async def test_a_task_is_known_for_its_time_and_no_longer() -> None:
    go_on = anyio.Event()
    store = MemoryStore()
    async with calling(slow(store, go_on, Limits(call_s=0.5, task_ttl_s=0.1, output_ttl_s=0.2))) as caller:
        task_id = (await caller.call("work", {}, TAKES_TASKS)).result["taskId"]
        go_on.set()
        await caller.until(task_id, "completed")
        with anyio.fail_after(5):
            while (await caller.ask("tasks/get", {"taskId": task_id}, TAKES_TASKS)).status == 200:
                pass
            for uri in (f"task:{task_id}", f"task:{task_id}/wants", f"call://{task_id}/log"):
                with suppress(ResourceNotFound):
                    while await store.entry(uri):
                        await anyio.sleep(0.01)
        for unknown in (task_id, "", "x" * 3_000, "../x", "é"):
            called = await caller.ask("tasks/get", {"taskId": unknown or 7}, TAKES_TASKS)
            assert called.error["code"] in (-32602, -32020)


async def test_a_record_is_not_listed() -> None:
    async with calling(slow()) as caller:
        task = (await caller.call("work", {}, both(streams(), TAKES_TASKS))).result
        listed = (await caller.ask("resources/list", {})).result["resources"]
        assert [entry["uri"] for entry in listed] == [task["outputs"][0]["uri"]]
        templates = (await caller.ask("resources/templates/list", {})).result["resourceTemplates"]
        assert len(templates) == 1


@requirement("SR-3.4.a")
async def test_at_the_end_of_a_server_its_tasks_are_cancelled_and_their_outputs_sealed() -> None:
    store = MemoryStore()
    async with calling(slow(store)) as caller:
        task = (await caller.call("work", {}, both(streams(), TAKES_TASKS))).result
    async with calling(slow(store)) as another:
        assert (await another.task(task["taskId"]))["status"] == "cancelled"
        assert (await another.read(task["outputs"][0]["uri"]))["state"] == "aborted"


async def test_a_call_is_handed_over_after_its_time() -> None:
    server = Server("test")

    @server.tool(task_after_s=0.05)
    async def work(seconds: float) -> str:
        await anyio.sleep(seconds)
        return "done"

    async with calling(server) as caller:
        assert (await caller.call("work", {"seconds": 0}, TAKES_TASKS)).text == "done"
        assert (await caller.call("work", {"seconds": 0.2})).text == "done"
        task = (await caller.call("work", {"seconds": 0.2}, TAKES_TASKS)).result
        assert task["status"] in WORKING
        assert (await caller.until(task["taskId"], "completed"))["result"]["content"] == [
            {"type": "text", "text": "done"}
        ]
