"""What goes through the bridge as it is: tools, arguments, questions, errors, tasks, and the news of all that."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import pytest
from pydantic import Field
from requirement import requirement
from tools.caller import ELICITS, TAKES_TASKS, both, streams

from streamres import Limits, RpcError, Server
from streamres.tools import Context, Elicit, Text, Tool, ToolResult
from streamres.tools.calls import SETTLE_S

from .faulty import faulty, result, text
from .scene import STREAMS, bridged, links

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from .scene import Scene

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def eliciting(message: str) -> dict[str, Any]:
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": NAME},
    }


@asynccontextmanager
async def in_front_of(server: Server) -> AsyncIterator[Scene]:
    async with server.serve(port=0) as url, bridged(url) as scene:
        yield scene


async def test_the_tools_are_offered_as_they_are() -> None:
    upstream = Server("upstream")

    @upstream.tool(title="Add", annotations={"readOnlyHint": True}, streaming=True)
    def add(
        a: int, region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "eu"
    ) -> dict[str, int]:
        """Adds."""
        return {"sum": a + len(region)}

    async def nothing(context: Context, arguments: object) -> ToolResult:
        return ToolResult()

    odd = Tool(
        name="an odd/name é",
        input_schema={"type": "object"},
        handle=nothing,
        dumped=lambda value: value,
        more={"icons": [{"src": "data:,"}], "_meta": {"ui/resourceUri": "ui://x"}},
    )
    upstream.tools.add(odd)
    async with in_front_of(upstream) as scene:
        there = await scene.upstream.list_tools()
        (added, named) = (await scene.caller.ask("tools/list", {})).result["tools"]

        assert added["name"] == "add"
        assert added["inputSchema"] == there[0].input_schema
        assert added["outputSchema"] == there[0].output_schema
        assert added["annotations"] == {"readOnlyHint": True, "streamingHint": True}
        assert (added["title"], added["description"]) == ("Add", "Adds.")
        assert named == odd.listed()

        request = scene.caller.request(
            "tools/call", {"name": "add", "arguments": {"a": 1, "region": "süd"}}, {}, {}
        )
        request.headers["mcp-param-region"] = "=?base64?c8O8ZA==?="
        answer = (await scene.caller._http.send(request)).json()
        assert answer["result"]["structuredContent"] == {"sum": 4}
        refused = await scene.caller.call("add", {"a": 1, "region": "süd"})
        assert (refused.status, refused.error["code"]) == (400, -32020)
        told = await scene.caller.call("add", {"a": "many"})
        assert told.result["isError"] is True


@pytest.mark.parametrize("data", [{"after": 3}, ["a"], "word", None], ids=str)
async def test_an_error_keeps_its_code_its_words_and_its_data(data: object) -> None:
    upstream = Server("upstream")

    @upstream.tool()
    def refused() -> None:
        raise RpcError(-32050, "not now", data)

    async with in_front_of(upstream) as scene:
        error = (await scene.caller.call("refused")).error

    assert (error["code"], error["message"], error.get("data")) == (-32050, "not now", data)


async def test_what_the_other_server_asks_and_its_state_go_through_unread() -> None:
    states = ["", "é\n=?base64?", "t:pretends to be ours"]

    async def script(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        seen = params.get("requestState")
        if seen is None and "inputResponses" not in params:
            yield asking(states[0], "first")
        elif seen == states[0] and seen is not None:
            assert params["inputResponses"] == {"first": {"action": "decline"}}
            yield asking(states[1], "first")
        elif seen == states[1]:
            yield asking(states[2], "second")
        elif seen == states[2]:
            assert params["inputResponses"] == {"second": {"action": "accept", "content": {"name": "Ann"}}}
            yield asking(None, "third")
        else:
            yield result("done")

    def asking(state: str | None, key: str) -> dict[str, Any]:
        members = {"resultType": "input_required", "inputRequests": {key: eliciting(key)}}
        return {"result": members if state is None else {**members, "requestState": state}}

    async with faulty(script) as (upstream, url), bridged(url) as scene:
        keys, said = [], {}
        for response in ({"action": "decline"}, {"action": "decline"}, {"action": "accept"}, {}, {}):
            called = await scene.caller.call("work", {"a": 1}, ELICITS, **said)
            if called.result["resultType"] == "complete":
                break
            ((key, request),) = called.result["inputRequests"].items()
            assert request == eliciting(key)
            keys.append(key)
            if key == "second":
                response = {"action": "accept", "content": {"name": "Ann"}}
            said = {"inputResponses": {key: response}, "requestState": called.result["requestState"]}

        assert called.text == "done"
        assert keys == ["first", "first", "second", "third"]
        assert [asked.get("requestState") for asked in upstream.asked] == [None, *states, None]
        assert all(asked["arguments"] == {"a": 1} for asked in upstream.asked)
        capabilities = upstream.asked[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
        assert capabilities["elicitation"] == {}

        alien = await scene.caller.call("work", {}, ELICITS, inputResponses={}, requestState="alien")
        assert alien.error["data"] == {"reason": "request_state"}


async def test_a_caller_that_cannot_be_asked_is_told_so() -> None:
    upstream = Server("upstream")

    @upstream.tool()
    async def who(context: Context) -> str:
        answer = await context.ask("name", Elicit(message="Who?", schema=NAME))
        return str(answer["content"]["name"])

    async with in_front_of(upstream) as scene:
        called = await scene.caller.call("who")

        assert (called.error["code"], called.error["data"]) == (
            -32021,
            {"requiredCapabilities": {"elicitation": {}}},
        )


async def test_a_call_becomes_a_task_though_the_other_server_has_none() -> None:
    go_on = anyio.Event()

    async def script(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        yield text(0, "one ")
        yield {"progress": {"progress": 1, "message": "half"}}
        await go_on.wait()
        yield text(1, "two ", final=True)
        yield result("one two ")

    async with faulty(script) as (_, url), bridged(url, task_after_s=0) as scene:
        begun = (await scene.caller.call("work", {}, both(TAKES_TASKS, STREAMS))).result
        assert begun["resultType"] == "task"
        go_on.set()
        ended = await scene.caller.until(begun["taskId"], "completed")

        found = {block["name"]: block["uri"] for block in ended["result"]["content"][1:]}
        assert set(found) == {"output", "progress", "report"}
        assert await scene.caller.whole(found["output"]) == "one two "
        assert await scene.caller.whole(found["progress"]) == "half\n"
        report = await scene.report(found["report"])
        assert (report["outcome"], report["final"]) == ("equal", True)


async def test_a_question_to_a_task_of_the_bridge_waits_for_its_answer_and_keys_are_never_used_twice() -> None:
    async def script(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        given = params.get("inputResponses")
        if given == {"name": {"action": "accept", "content": {"name": "Ann"}}}:
            yield result("Ann")
            return
        members = {"resultType": "input_required", "inputRequests": {"name": eliciting("Who?")}}
        yield {"result": {**members, "requestState": "s"}}

    takes = both(TAKES_TASKS, ELICITS)
    async with faulty(script) as (_, url), bridged(url, task_after_s=0) as scene:
        task_id = (await scene.caller.call("work", {}, takes)).result["taskId"]
        for key, response in (("name", {}), ("name-2", {"action": "accept", "content": {"name": "Ann"}})):
            asked = await scene.caller.until(task_id, "input_required")
            assert list(asked["inputRequests"]) == [key]
            params = {"taskId": task_id, "inputResponses": {key: response}}
            await scene.caller.ask("tasks/update", params, TAKES_TASKS)
            if key == "name":
                await until_asked_anew(scene, task_id, key)
        ended = await scene.caller.until(task_id, "completed")
        assert ended["result"]["content"] == [{"type": "text", "text": "Ann"}]


async def until_asked_anew(scene: Scene, task_id: str, before: str) -> None:
    while before in (await scene.caller.task(task_id)).get("inputRequests", {}):
        await anyio.sleep(0.01)


async def test_a_task_behind_the_bridge_is_waited_for_by_a_client_that_knows_no_tasks() -> None:
    upstream = Server("upstream")
    go_on = anyio.Event()

    @upstream.tool(task_required=True)
    async def build(context: Context) -> str:
        log = await context.text("log", uri="build://upstream/log", mime_type="text/x-log")
        plan = await context.json("plan", {"steps": []})
        image = await context.blob("image")
        await context.progress(1, message="compiling")
        await log.append("compiling é\n")
        await plan.patch([{"op": "add", "path": "/steps/-", "value": 1}])
        await image.append(b"\x89PN")
        await go_on.wait()
        await log.append("linking\n")
        await image.append(b"G")
        return "compiling é\nlinking\n"

    async with in_front_of(upstream) as scene:
        params = {"name": "build", "arguments": {}}
        async with scene.caller.begin("tools/call", params, STREAMS) as (called, messages):
            uris = await scene.named(messages, "log", "plan", "image")
            await scene.until(uris["log"], "compiling é\n")
            go_on.set()
            async for _ in messages:
                pass

        found = links(called)
        assert len(called.result["content"]) == 1 + len(found), "a link to what only the other server has"
        assert all(link["uri"].startswith("call://") for link in found.values())
        assert found["log"]["mimeType"] == "text/x-log"
        assert [link["stream"]["state"] for link in found.values()] == ["complete"] * len(found)
        assert called.text == "compiling é\nlinking\n"
        assert await scene.caller.whole(uris["log"]) == "compiling é\nlinking\n"
        assert await scene.document(uris["plan"]) == {"steps": [1]}
        assert (await scene.caller.read(uris["image"]))["contents"][0]["blob"] == "iVBORw=="
        assert await scene.caller.whole(found["progress"]["uri"]) == "compiling\n"


async def test_outputs_that_are_first_named_with_the_result_are_kept_whole() -> None:
    upstream = Server("upstream")

    @upstream.tool(task_required=True)
    async def build(context: Context) -> str:
        await anyio.sleep(
            2 * SETTLE_S
        )  # its task is named before it has an output, and ends before it is looked at
        log = await context.text("log")
        await log.append("all\n")
        return "all\n"

    async with in_front_of(upstream) as scene:
        called = await scene.caller.call("build", {}, STREAMS)

        (link,) = links(called).values()
        assert link["stream"]["state"] == "complete"
        assert await scene.caller.whole(link["uri"]) == "all\n"


@requirement("SR-11.1.d")
@requirement("SR-11.2.a")
@requirement("SR-8.4.a")
async def test_partials_of_a_call_that_becomes_a_task_go_on_as_its_resource_with_nothing_twice() -> None:
    upstream = Server("upstream")
    hand_over, go_on = anyio.Event(), anyio.Event()

    @upstream.tool()
    async def build(context: Context) -> str:
        log = await context.text("log")
        plan = await context.json("plan", {"steps": []})
        await log.append("one ")
        await plan.patch([{"op": "add", "path": "/steps/-", "value": "a"}])
        await hand_over.wait()
        await context.become_task()
        await log.append("two ", cause="a word")
        await plan.patch([{"op": "append", "path": "/steps/0", "value": "b"}])
        await go_on.wait()
        await log.append("three ", cause="another")
        return "one two three "

    async with in_front_of(upstream) as scene:
        params = {"name": "build", "arguments": {}}
        async with scene.caller.begin("tools/call", params, STREAMS) as (called, messages):
            uris = await scene.named(messages, "log", "plan")
            await scene.until(uris["log"], "one ")
            first = await scene.caller.read(uris["log"])
            hand_over.set()
            await scene.until(uris["log"], "one two ")
            go_on.set()
            async for _ in messages:
                pass
        assert await scene.caller.whole(uris["log"]) == "one two three "
        assert await scene.document(uris["plan"]) == {"steps": ["ab"]}
        delta = (await scene.caller.read(uris["log"], first["cursor"]))["delta"]
        assert (delta["text"], delta["cause"]) == ("two three ", ["a word", "another"])
        assert called.text == "one two three "


async def test_a_question_of_a_task_behind_the_bridge_reaches_a_client_that_knows_no_tasks() -> None:
    upstream = Server("upstream")
    runs = 0

    @upstream.tool(task_required=True)
    async def who(context: Context) -> str:
        nonlocal runs
        runs += 1
        answer = await context.ask("name", Elicit(message="Who?", schema=NAME))
        return f"you are {answer['content']['name']}"

    async with in_front_of(upstream) as scene:
        asked = (await scene.caller.call("who", {}, ELICITS)).result
        assert asked["resultType"] == "input_required"
        assert list(asked["inputRequests"]) == ["name"]

        given = {"name": {"action": "accept", "content": {"name": "Ann"}}}
        state = asked["requestState"]
        called = await scene.caller.call("who", {}, ELICITS, inputResponses=given, requestState=state)

        assert (called.text, runs) == ("you are Ann", 1)


async def test_a_caller_that_goes_cancels_the_task_behind_the_bridge() -> None:
    upstream = Server("upstream")
    began, ended = anyio.Event(), anyio.Event()

    @upstream.tool(task_required=True)
    async def work(context: Context) -> None:
        await context.text("log")
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with in_front_of(upstream) as scene:
        params = {"name": "work", "arguments": {}}
        async with scene.caller.begin("tools/call", params, STREAMS) as (_, messages):
            await scene.named(messages, "log")
            await began.wait()
        await ended.wait()


async def test_a_task_that_fails_behind_the_bridge_is_the_same_error() -> None:
    upstream = Server("upstream")

    @upstream.tool(task_required=True)
    async def refused() -> None:
        raise RpcError(-32050, "not now", {"after": 3})

    async with in_front_of(upstream) as scene:
        error = (await scene.caller.call("refused")).error
        assert (error["code"], error["message"], error["data"]) == (-32050, "not now", {"after": 3})


async def test_when_the_tools_change_behind_the_bridge_they_change_here_and_it_is_told() -> None:
    upstream = Server("upstream")

    def offer(name: str, said: str) -> None:
        @upstream.tool(name, description=said)
        def tool() -> str:
            return said

    offer("kept", "kept")
    offer("gone", "gone")
    async with in_front_of(upstream) as scene:
        wanted = {"notifications": {"toolsListChanged": True}}
        async with scene.caller.begin("subscriptions/listen", wanted, streams()) as (_, messages):
            await anext(messages)
            upstream.remove_tool("gone")
            offer("new", "new")
            while await names(scene) != {"kept", "new"}:
                message = await anext(messages)
                assert message["method"] == "notifications/tools/list_changed"
        assert (await scene.caller.call("new")).text == "new"
        assert (await scene.caller.call("gone")).error["code"] == -32602


async def names(scene: Scene) -> set[str]:
    return {tool["name"] for tool in (await scene.caller.ask("tools/list", {})).result["tools"]}


@requirement("SR-11.2.c")
async def test_partials_of_our_own_tools_are_the_same_outputs_here() -> None:
    upstream = Server("upstream", limits=Limits(notification_bytes=16))
    whole = "".join(f"line {number} é\n" for number in range(50))

    @upstream.tool()
    async def build(context: Context) -> ToolResult:
        log = await context.text("log")
        await log.append(whole)
        return ToolResult(content=[Text(whole)])

    async with in_front_of(upstream) as scene:
        called = await scene.caller.call("build", {}, STREAMS)

        found = links(called)
        assert set(found) == {"log", "report"}
        assert await scene.caller.whole(found["log"]["uri"]) == whole
        report = await scene.report(found["report"]["uri"])
        assert (report["outcome"], report["final"], report["missing"]) == ("equal", True, 0)
        assert report["committed"] > 10
