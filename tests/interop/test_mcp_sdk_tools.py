"""The official Python SDK 2.3.0, unchanged, calls tools: progress, partials, questions, headers, tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client, ClientRequestContext, advertise
from mcp.shared.exceptions import MCPError
from requirement import requirement
from server.wire import EXTENSION, STREAM

from .streams_extension import Streams
from .tasks_extension import Task, Tasks, ask
from .tool_site import LINES, site

every_mode = pytest.mark.parametrize("mode", ["auto", "legacy"])


def text_of(partials: Sequence[dict[str, Any]]) -> str:
    return "".join(block["text"] for one in partials for block in one["content"])


async def read_since(client: Client, uri: str, cursor: str) -> dict[str, Any]:
    return ((await client.read_resource(uri, meta={STREAM: {"since": cursor}})).meta or {})[STREAM]


@requirement("SR-10.1")
@every_mode
async def test_it_lists_tools_and_calls_one(mode: str) -> None:
    async with site() as (_, url), Client(url, mode=mode) as client:
        with anyio.fail_after(5):
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            result = await client.call_tool("add", {"a": 2, "b": 3})
            refused = await client.call_tool("add", {"b": 3})
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("subtract")

    assert list(listed) == ["add", "build", "deploy", "greet", "locate"]
    assert listed["add"].description == "Adds two numbers."
    assert listed["add"].input_schema["properties"] == {
        "a": {"type": "integer"},
        "b": {"type": "integer", "default": 1},
    }
    assert (result.structured_content, result.is_error) == ({"total": 5}, False)
    assert [block.text for block in result.content] == ['{"total": 5}']
    assert refused.is_error
    assert unknown.value.error.code == -32602


@requirement("SR-8.3")
@every_mode
async def test_it_hears_progress_while_the_tool_works(mode: str) -> None:
    told = []
    async with site() as (made, url), Client(url, mode=mode) as client:

        async def progress(value: float, total: float | None, message: str | None) -> None:
            told.append((value, total, message))
            made.go_on.set()  # the tool waits for it

        with anyio.fail_after(5):
            result = await client.call_tool("build", progress_callback=progress)
            said, link = result.content
            (contents,) = (await client.read_resource(link.uri)).contents

    assert told == [(1, 2, "compiling"), (2, 2, "linking")]
    assert (said.text, link.type) == ("built", "resource_link")
    assert contents.text == "".join(LINES)


@requirement("SR-11.1")
@requirement("SR-11.3")
@requirement("SR-8.2")
async def test_by_a_notification_binding_it_hears_the_output_and_its_partials() -> None:
    streams = Streams(partialResults=True)
    async with site() as (made, url), Client(url, extensions=[streams]) as client:
        results = []

        async def call() -> None:
            results.append(await client.call_tool("build", meta={"partialResultToken": "prt"}))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                named = await streams.until("outputs")
                first = await streams.until("partial_result", seq=0)
                assert not results
                made.go_on.set()
            last = await streams.until("partial_result", final=True)
            (output,) = named["_meta"][STREAM]["outputs"]
            missed = await read_since(client, output["uri"], first["_meta"][STREAM]["cursor"])
            rest = await read_since(client, output["uri"], last["_meta"][STREAM]["cursor"])

    partials = streams.partials
    assert streams.heard[0] == ("outputs", named)
    assert [one["seq"] for one in partials] == list(range(len(partials)))
    assert {one["partialResultToken"] for one in partials} == {"prt"}
    assert [one.get("final", False) for one in partials] == [False] * (len(partials) - 1) + [True]
    assert (text_of(partials[:1]), text_of(partials)) == (LINES[0], "".join(LINES))
    assert (missed["delta"]["text"], rest["delta"]["text"], rest["state"]) == (LINES[1], "", "complete")
    assert [block.uri for block in results[0].content[1:]] == [output["uri"]]


@requirement("SR-8.3.b")
async def test_declaring_the_extension_it_sees_in_the_link_where_the_output_stands() -> None:
    async with site() as (made, url):
        made.go_on.set()
        async with Client(url, extensions=[advertise(EXTENSION, {"binding": "meta"})]) as client:
            with anyio.fail_after(5):
                _, link = (await client.call_tool("build")).content

    assert (link.meta or {})[STREAM]["stream"] == {"kind": "text", "state": "complete", "revision": 3}


async def test_a_call_that_it_gives_up_is_cancelled_and_its_output_aborted() -> None:
    streams = Streams()
    async with site() as (made, url), Client(url, extensions=[streams]) as client:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "build")
                (output,) = (await streams.until("outputs"))["_meta"][STREAM]["outputs"]
                await made.waits.wait()
                tasks.cancel_scope.cancel()
            cursor = ((await client.read_resource(output["uri"], meta={STREAM: {}})).meta or {})[STREAM]["cursor"]
            end = await ended(client, output["uri"], cursor)
            (contents,) = (await client.read_resource(output["uri"])).contents

    assert (end["state"], contents.text) == ("aborted", LINES[0])


async def ended(client: Client, uri: str, cursor: str) -> dict[str, Any]:
    """Where a resource stands once it is sealed; the server holds the read until then."""
    while True:
        held = {STREAM: {"since": cursor, "waitMs": 5_000}}
        standing = ((await client.read_resource(uri, meta=held)).meta or {})[STREAM]
        if standing["state"] != "open":
            return standing
        cursor = standing["cursor"]


async def test_it_answers_what_a_tool_asks() -> None:
    async with site() as (_, url), Client(url, elicitation_callback=zoe) as client, Client(url) as mute:
        with anyio.fail_after(5):
            result = await client.call_tool("greet")
            with pytest.raises(MCPError) as unasked:
                await mute.call_tool("greet")

    assert result.content[0].text == "Hello, Zoé!"
    assert unasked.value.error.data == {"requiredCapabilities": {"elicitation": {}}}


async def zoe(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    """Answers for the user; a client that is given this declares that it can be asked."""
    assert params.message == "Who is there?"
    return types.ElicitResult(action="accept", content={"name": "Zoé"})


@pytest.mark.parametrize("region", ["eu-west", " padded ", "Zürich\n"])
async def test_it_repeats_an_argument_in_a_header_also_where_it_has_not_listed_the_tool(region: str) -> None:
    async with site() as (_, url), Client(url) as client:
        with anyio.fail_after(5):
            result = await client.call_tool("locate", {"region": region})

    assert result.content[0].text == f"in {region}"


@requirement("SR-8.2")
@requirement("SR-8.3")
async def test_by_a_result_claim_it_drives_a_task_to_its_end_and_follows_its_output() -> None:
    read = []

    async def answer(key: str, request: dict[str, Any]) -> dict[str, Any]:
        (output,) = outputs(tasks.seen[-1])
        read.append((await client.read_resource(output["uri"])).contents[0].text)
        return {"action": "accept", "content": {"name": request["params"]["message"]}}

    tasks = Tasks(answer)
    extensions = [tasks, advertise(EXTENSION, {"binding": "meta"})]
    async with site() as (_, url), Client(url, extensions=extensions, elicitation_callback=zoe) as client:
        with anyio.fail_after(10):
            result = await client.call_tool("deploy")
            (output,) = outputs(tasks.seen[0])
            read.append((await client.read_resource(output["uri"])).contents[0].text)

    assert result.content[0].text == "deployed by Who deploys?"
    assert read == [LINES[0], "".join(LINES)]
    assert [output["uri"] for task in tasks.seen for output in outputs(task)] == [output["uri"]] * len(tasks.seen)
    statuses = [task.status for task in tasks.seen]
    assert (statuses[0], statuses[-1]) == ("working", "completed")
    assert "input_required" in statuses


def outputs(task: Task) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (task.meta or {})[STREAM]["outputs"]
    return found


@requirement("SR-8.2")
async def test_it_hears_of_a_task_by_its_subscription_and_cancels_it() -> None:
    streams = Streams()

    async def nothing(key: str, request: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("the task was not polled")

    extensions = [Tasks(nothing), streams]
    async with site() as (_, url), Client(url, extensions=extensions, elicitation_callback=zoe) as client:
        with anyio.fail_after(5):
            created = await client.session.call_tool("deploy", allow_claimed=True)
            assert isinstance(created, Task)
            listen = types.SubscriptionsListenRequest(
                params=types.SubscriptionsListenRequestParams(
                    notifications=types.SubscriptionFilter(taskIds=[created.task_id])
                )
            )
            async with anyio.create_task_group() as group:
                group.start_soon(client.session.send_request, listen, types.SubscriptionsListenResult)
                asking = await streams.until("tasks", status="input_required")
                await ask(client.session, "tasks/cancel", created.task_id, types.EmptyResult)
                end = await streams.until("tasks", status="cancelled")
                group.cancel_scope.cancel()
            (output,) = asking["_meta"][STREAM]["outputs"]
            aborted = (await client.read_resource(output["uri"], meta={STREAM: {}})).meta or {}

    assert asking["inputRequests"]["who"]["method"] == "elicitation/create"
    assert (end["taskId"], "result" in end) == (created.task_id, False)
    assert aborted[STREAM]["state"] == "aborted"
