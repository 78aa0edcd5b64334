"""Outputs: named when work starts, followed while it goes on, sealed at its end, linked in the result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from requirement import requirement

from streamres import Limits, Server
from streamres.tools import Context, ToolResult

from .caller import TAKES_TASKS, both, calling, stream_of, streams


@requirement("SR-8.2")
@requirement("SR-8.1.b")
@pytest.mark.parametrize("binding", ["fields", "meta"])
async def test_an_output_is_named_and_can_be_read_while_the_tool_works(binding: str) -> None:
    server = Server("test")
    go_on = anyio.Event()

    @server.tool()
    async def work(context: Context) -> str:
        log = await context.text("log", title="Log", audience=["user"])
        await log.append("é first\n")
        await go_on.wait()
        await log.append("last\n")
        return "done"

    async with calling(server) as caller:
        params = {"name": "work", "arguments": {}}
        with anyio.fail_after(5):
            async with caller.begin("tools/call", params, streams(binding)) as (called, messages):
                first = await anext(messages)
                assert first["method"] == "notifications/tools/outputs"
                named = first["params"] if binding == "fields" else stream_of(first["params"])
                (link,) = named["outputs"]
                stream = link["stream"] if binding == "fields" else stream_of(link)["stream"]
                assert (stream["kind"], stream["state"]) == ("text", "open")
                assert link["annotations"] == {"audience": ["user"]}
                read = await caller.read(link["uri"])
                assert read["contents"][0]["text"] == "é first\n"
                go_on.set()
                async for _ in messages:
                    pass
        (text, link) = called.result["content"]
        assert text["text"] == "done"
        stream = link["stream"] if binding == "fields" else stream_of(link)["stream"]
        assert (link["type"], stream) == ("resource_link", {"kind": "text", "state": "complete", "revision": 3})
        rest = await caller.read(link["uri"], read["cursor"])
        assert (rest["delta"]["text"], rest["state"]) == ("last\n", "complete")


@requirement("SR-8.3.a")
@requirement("SR-8.3.b")
@requirement("SR-10.1")
async def test_a_client_that_declares_nothing_gets_one_json_answer_with_a_plain_link() -> None:
    server = Server("test")

    @server.tool()
    async def work(context: Context) -> str:
        plan = await context.json("plan", {"steps": []})
        await plan.patch([{"op": "add", "path": "/steps/-", "value": 1}])
        image = await context.blob("image", mime_type="image/png")
        await image.append(b"\x89PNG")
        await context.progress(1)
        return "all of it"

    async with calling(server) as caller:
        called = await caller.call("work")

        assert called.content_type == "application/json"
        text, plan, image = called.result["content"]
        assert text == {"type": "text", "text": "all of it"}
        assert set(plan) == {"type", "uri", "name", "mimeType"}
        assert (plan["name"], image["mimeType"]) == ("plan", "image/png")
        assert set(called.result) == {"resultType", "content", "_meta"}
        assert await caller.whole(plan["uri"]) == '{"steps":[1]}'


async def raises() -> None:
    raise ValueError("broken")


async def never_ends() -> None:
    await anyio.sleep_forever()


async def gives_what_is_forbidden() -> ToolResult:
    return ToolResult(structured={"count": "many"})


@requirement("SR-3.4.a")
@pytest.mark.parametrize(
    ("end", "text"),
    [
        (raises, "ValueError: broken"),
        (never_ends, "did not end within 0.2 s"),
        (gives_what_is_forbidden, "forbids"),
    ],
)
@pytest.mark.parametrize(
    "capabilities", [{}, streams(), both(streams(), TAKES_TASKS)], ids=["plain", "stream", "task"]
)
async def test_however_a_tool_fails_its_output_is_aborted_with_what_it_had(
    end: Callable[[], Awaitable[object]], text: str, capabilities: dict[str, Any]
) -> None:
    server = Server("test")
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}}

    @server.tool(output_schema=schema, timeout_s=0.2, task_after_s=0)
    async def work(context: Context) -> object:
        log = await context.text("log", uri="build://log")
        await log.append("so far\n")
        return await end()

    async with calling(server) as caller:
        called = await caller.call("work", {}, capabilities)

        result = called.result
        if result["resultType"] == "task":
            result = (await caller.until(result["taskId"], "completed"))["result"]
        assert result["isError"] is True
        assert text in result["content"][0]["text"]
        read = await caller.read("build://log")
        assert (read["contents"][0]["text"], read["state"]) == ("so far\n", "aborted")


@requirement("SR-12.3")
async def test_a_tool_that_floods_fails_and_keeps_what_it_had() -> None:
    server = Server("test", limits=Limits(output_bytes=1_000_000))

    @server.tool()
    async def flood(context: Context) -> None:
        log = await context.text(uri="build://flood")
        while True:
            await log.append("x" * 99_999 + "\n")

    async with calling(server) as caller:
        called = await caller.call("flood")

        assert (called.result["isError"], "output_bytes = 1000000" in called.text) == (True, True)
        read = await caller.read("build://flood")
        assert (len(read["contents"][0]["text"]), read["state"]) == (1_000_000, "aborted")


@requirement("T1")
@pytest.mark.parametrize("capabilities", [{}, streams()], ids=["plain", "stream"])
async def test_a_caller_that_goes_cancels_its_call(capabilities: dict[str, Any]) -> None:
    server = Server("test")
    began, ended = anyio.Event(), anyio.Event()

    @server.tool()
    async def work(context: Context) -> None:
        log = await context.text(uri="build://log")
        await log.append("so far\n")
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with calling(server) as caller:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:

                async def call() -> None:
                    await caller.call("work", {}, capabilities)

                tasks.start_soon(call)
                await began.wait()
                tasks.cancel_scope.cancel()
            await ended.wait()
            with server.store.watch(["build://log"]) as watch:
                while (await server.store.entry("build://log")).head.state == "open":
                    await watch.wait()
                    watch.take()
        assert (await caller.read("build://log"))["state"] == "aborted"


async def test_a_tool_that_does_not_let_itself_be_cancelled_is_left_behind() -> None:
    server = Server("test", limits=Limits(grace_s=0.1))
    let_go = anyio.Event()
    failures: list[str] = []

    @server.tool(timeout_s=0.1)
    async def stubborn(context: Context) -> None:
        log = await context.text(uri="build://log")
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()
        try:
            await log.append("too late")
        except Exception as exc:
            failures.append(type(exc).__name__)
            raise

    async with calling(server) as caller:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:

                async def call() -> None:
                    await caller.call("stubborn")

                tasks.start_soon(call)
                with server.store.watch(["build://log"]) as watch:
                    await watch.wait()
                tasks.cancel_scope.cancel()
            with server.store.watch(["build://log"]) as watch:
                while (await server.store.entry("build://log")).head.state == "open":
                    await watch.wait()
                    watch.take()
            let_go.set()
            while not failures:
                await anyio.sleep(0.01)
        assert failures == ["ResourceSealed"]


async def test_a_tool_that_hangs_and_cannot_be_cancelled_ends_its_call_all_the_same() -> None:
    server = Server("test", limits=Limits(grace_s=0.1))
    let_go = anyio.Event()

    @server.tool(timeout_s=0.1)
    async def stubborn(context: Context) -> None:
        await context.text(uri="build://log")
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()

    async with calling(server) as caller:
        called = await caller.call("stubborn")

        assert (called.result["isError"], "did not end within 0.1 s" in called.text) == (True, True)
        assert (await caller.read("build://log"))["state"] == "aborted"
        let_go.set()


@requirement("SR-12.3")
async def test_more_calls_than_are_allowed_are_refused_for_the_moment() -> None:
    server = Server("test", limits=Limits(calls=2))
    go_on = anyio.Event()
    running = 0

    @server.tool()
    async def wait() -> str:
        nonlocal running
        running += 1
        await go_on.wait()
        return "done"

    async with calling(server) as caller:
        results: list[str] = []

        async def call() -> None:
            results.append((await caller.call("wait")).text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            tasks.start_soon(call)
            while running < 2:
                await anyio.sleep(0.01)
            refused = await caller.call("wait")
            assert refused.error["data"] == {"reason": "limit", "limit": "calls", "value": 2}
            go_on.set()
        assert results == ["done", "done"]
        assert (await caller.call("wait")).text == "done"
