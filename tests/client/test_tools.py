"""Tools through the client: the list, headers, questions, tasks, and servers that are wrong or gone."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import httpx2
import pytest
from pydantic import Field
from requirement import requirement

from streamres import Client, ConnectionLost, ProtocolError, RpcError, Server, Timeouts
from streamres.client import CallResult, InputRequired, Partial, Progress
from streamres.client.request import Asking
from streamres.errors import TaskCancelled
from streamres.protocol.parameters import header_arguments
from streamres.tools import Context, Elicit, ToolResult

from .lying import lying, result, sse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from streamres.client import Listed

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
WORKING = {"taskId": "t", "status": "working", "pollIntervalMs": 1}
TASKS = Asking(capabilities={"extensions": {"io.modelcontextprotocol/tasks": {}}})
ANN = {"action": "accept", "content": {"name": "Ann"}}


@asynccontextmanager
async def clients(server: Server) -> AsyncIterator[Client]:
    with anyio.fail_after(20):
        async with server.serve(port=0) as url, Client(url) as client:
            yield client


def raw_status(status: str) -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode()


def header(name: object, type_: object = "string") -> dict[str, Any]:
    return {"type": type_, "x-mcp-header": name}


INVALID: dict[str, dict[str, Any]] = {
    "empty": {"properties": {"a": header("")}},
    "no token": {"properties": {"a": header("a b")}},
    "a line break": {"properties": {"a": header("a\r\nb")}},
    "no text": {"properties": {"a": header(7)}},
    "twice": {"properties": {"a": header("Name"), "b": header("name")}},
    "twice at another depth": {"properties": {"a": header("n"), "o": {"properties": {"b": header("N")}}}},
    "a number": {"properties": {"a": header("A", "number")}},
    "an object": {"properties": {"a": header("A", "object")}},
    "of two types": {"properties": {"a": header("A", ["string", "null"])}},
    "no type": {"properties": {"a": {"x-mcp-header": "A"}}},
    "the whole": {"x-mcp-header": "A", "type": "string"},
    "in an item": {"properties": {"a": {"type": "array", "items": header("A")}}},
    "in a choice": {"properties": {"a": {"oneOf": [header("A")]}}},
    "in a definition": {"$defs": {"a": header("A")}, "properties": {"a": {"$ref": "#/$defs/a"}}},
    "behind a condition": {"if": {}, "then": {"properties": {"a": header("A")}}},
    "in a pattern": {"patternProperties": {"a": header("A")}},
}
VALID: dict[str, tuple[dict[str, Any], dict[str, tuple[str, ...]]]] = {
    "none": ({}, {}),
    "deep": ({"properties": {"o": {"properties": {"a": header("A", "integer")}}}}, {"A": ("o", "a")}),
    "an argument of that name": ({"properties": {"x-mcp-header": {"type": "string"}}}, {}),
    "data": ({"properties": {"a": {"default": {"x-mcp-header": 1}, "enum": [{"x-mcp-header": 1}]}}}, {}),
}


@pytest.mark.parametrize("schema", INVALID.values(), ids=INVALID)
async def test_a_tool_with_an_invalid_header_annotation_is_left_out_and_the_others_are_not(
    schema: dict[str, Any],
) -> None:
    tools = [
        {"name": "bad", "inputSchema": {"type": "object", **schema}},
        {"name": "good", "inputSchema": {"type": "object"}},
    ]
    async with lying(lambda request: result(request, answer(request, tools=tools))) as url, Client(url) as client:
        with anyio.fail_after(5):
            assert [tool.name for tool in await client.list_tools()] == ["good"]


def answer(request: dict[str, Any], **members: object) -> dict[str, Any]:
    if request["method"] == "server/discover":
        return {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    return {"resultType": "complete", **members}


@pytest.mark.parametrize(("schema", "paths"), VALID.values(), ids=VALID)
def test_an_annotation_is_found_where_names_alone_lead_to_it(
    schema: dict[str, Any], paths: Mapping[str, tuple[str, ...]]
) -> None:
    assert {found.name: found.path for found in header_arguments(schema)} == paths


async def test_arguments_go_into_headers_as_the_server_demands() -> None:
    server = Server("test")

    @server.tool()
    def where(
        region: Annotated[
            str | None, Field(json_schema_extra={"x-mcp-header": "Region", "type": "string"})
        ] = None,
        count: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Count"})] = 0,
        dry: Annotated[bool, Field(json_schema_extra={"x-mcp-header": "Dry"})] = False,
        other: str = "",
    ) -> str:
        return f"{region} {count} {dry} {other}"

    async with clients(server) as client:
        for arguments, said in [
            ({}, "None 0 False "),
            ({"region": None, "other": "x"}, "None 0 False x"),
            ({"region": " süd\n", "count": -7, "dry": True}, " süd\n -7 True "),
            ({"region": "=?base64?x?="}, "=?base64?x?= 0 False "),
            ({"region": "", "count": 2**53 - 1, "dry": False}, f" {2**53 - 1} False "),
        ]:
            called = await client.call_tool("where", arguments)
            assert isinstance(called, CallResult)
            assert called.text == said


async def test_when_the_schema_is_another_one_meanwhile_the_call_is_made_once_more() -> None:
    server = Server("test")
    calls = 0

    def offer(**annotation: str) -> None:
        schema = {"type": "object", "properties": {"region": {"type": "string", **annotation}}}

        @server.tool(input_schema=schema)
        async def where(context: Context, arguments: Mapping[str, Any]) -> str:
            nonlocal calls
            calls += 1
            return str(arguments["region"])

    offer()
    async with clients(server) as client:
        await client.list_tools()
        server.remove_tool("where")
        offer(**{"x-mcp-header": "Region"})
        called = await client.call_tool("where", {"region": "eu"})
        assert isinstance(called, CallResult)
        assert (called.text, calls) == ("eu", 1)


@requirement("SR-8.2")
async def test_what_comes_before_the_result_is_told_in_order() -> None:
    server = Server("test")

    @server.tool()
    async def build(context: Context) -> str:
        log = await context.text("log")
        await log.append("one ")
        await context.progress(1, 2, "half")
        return "built"

    told: list[object] = []

    async def tell(what: object) -> None:
        told.append(what)

    async with clients(server) as client:
        called = await client.call_tool("build", on_outputs=tell, on_progress=tell, on_partial=tell)

        assert isinstance(called, CallResult)
        assert (called.text, called.is_error, called.structured) == ("built", False, None)
        (outputs,) = [what for what in told if isinstance(what, list)]
        assert told[0] == outputs
        found: list[Listed] = outputs
        assert (found[0].name, found[0].kind) == ("log", "text")
        assert Progress(value=1, total=2, message="half") in told
        partials = [what for what in told if isinstance(what, Partial)]
        assert [partial.seq for partial in partials] == list(range(len(partials)))
        assert partials[0].content == ({"type": "text", "text": "one "},)
        assert partials[-1].final
        assert "".join([update.text async for update in client.follow(found[0].uri)]) == "one "


@requirement("SR-11.3")
async def test_a_partial_of_another_call_is_not_heard() -> None:
    def lie(request: dict[str, Any]) -> bytes:
        if request["method"] != "tools/call":
            return result(request, answer(request, tools=[]))
        params = {"partialResultToken": "another", "seq": 0, "content": []}
        partial = {"jsonrpc": "2.0", "method": "notifications/tools/partial_result", "params": params}
        token = request["params"]["_meta"]["partialResultToken"]
        own = {**partial, "params": {**params, "seq": 1, "partialResultToken": token}}
        last = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request, content=[])}
        return sse(partial, own, last)

    heard: list[int] = []

    async def hear(partial: Partial) -> None:
        heard.append(partial.seq)

    async with lying(lie) as url, Client(url) as client:
        with anyio.fail_after(5):
            await client.call_tool("work", on_partial=hear)
    assert heard == [1]


async def test_what_the_server_asks_goes_to_the_callback_or_ends_the_call() -> None:
    server = Server("test")

    @server.tool()
    async def who(context: Context) -> str:
        first = await context.ask("name", Elicit(message="Who?", schema=NAME))
        second = await context.ask("other", Elicit(message="And who?", schema=NAME))
        return f"{first['content']['name']} and {second['content']['name']}"

    asked: list[str] = []

    async def give(requests: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        asked.extend(request["params"]["message"] for request in requests.values())
        return dict.fromkeys(requests, ANN)

    can = {"elicitation": {}}
    async with clients(server) as client:
        called = await client.call_tool("who", on_input=give, capabilities=can)
        assert isinstance(called, CallResult)
        assert (called.text, asked) == ("Ann and Ann", ["Who?", "And who?"])

        needed = await client.call_tool("who", capabilities=can)
        assert isinstance(needed, InputRequired)
        assert (list(needed.requests), needed.task_id) == (["name"], None)
        needed = await client.call_tool("who", capabilities=can, responses={"name": ANN}, state=needed.state)
        assert isinstance(needed, InputRequired)
        called = await client.call_tool("who", capabilities=can, responses={"other": ANN}, state=needed.state)
        assert isinstance(called, CallResult)
        assert called.text == "Ann and Ann"

        with pytest.raises(RpcError) as raised:
            await client.call_tool("who")
        assert raised.value.code == -32021


async def test_a_task_is_looked_at_to_its_end_and_asks_each_question_once() -> None:
    server = Server("test")

    @server.tool(task_required=True)
    async def who(context: Context) -> str:
        await context.progress(1, message="asking")
        answer = await context.ask("name", Elicit(message="Who?", schema=NAME))
        return str(answer["content"]["name"])

    told: list[str] = []
    asked: list[str] = []

    async def tell(task: Mapping[str, Any]) -> None:
        told.append(task["status"])

    async def give(requests: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        asked.extend(requests)
        return dict.fromkeys(requests, ANN)

    can = {"elicitation": {}}
    async with clients(server) as client:
        called = await client.call_tool("who", tasks=True, on_task=tell, on_input=give, capabilities=can)
        assert isinstance(called, CallResult)
        assert (called.text, asked) == ("Ann", ["name"])
        assert (told[0], told[-1]) == ("working", "completed")

        needed = await client.call_tool("who", tasks=True, capabilities=can)
        assert isinstance(needed, InputRequired)
        assert needed.task_id is not None
        called = await client.wait_task(needed.task_id, capabilities=can, responses={"name": ANN})
        assert isinstance(called, CallResult)
        assert called.text == "Ann"

        with pytest.raises(RpcError) as raised:
            await client.call_tool("who")
        assert raised.value.code == -32021
        with pytest.raises(RpcError) as raised:
            await client.wait_task("unknown")
        assert raised.value.code == -32602


async def test_a_question_that_is_still_there_after_its_answer_is_not_asked_again() -> None:
    updates: list[dict[str, Any]] = []

    def lie(request: dict[str, Any]) -> bytes:
        asking = {**WORKING, "status": "input_required", "inputRequests": {"a": {"method": "roots/list"}}}
        match request["method"]:
            case "tools/call":
                return result(request, {"resultType": "task", **asking})
            case "tasks/update":
                updates.append(request["params"]["inputResponses"])
                return result(request, {"resultType": "complete"})
            case "tasks/get" if len(looks) < 3:
                looks.append(request["params"]["taskId"])
                return result(request, answer(request, **asking))
            case "tasks/get":
                return result(
                    request, answer(request, **{**WORKING, "status": "completed", "result": {"content": []}})
                )
            case _:
                return result(request, answer(request, tools=[]))

    async def give(requests: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        return {key: {"roots": []} for key in requests}

    looks: list[str] = []
    async with lying(lie) as url, Client(url) as client:
        with anyio.fail_after(5):
            await client.call_tool("work", tasks=True, on_input=give)
    assert updates == [{"a": {"roots": []}}]
    assert looks == ["t"] * 3


async def test_a_task_that_fails_or_is_cancelled_is_an_error() -> None:
    server = Server("test")
    began = anyio.Event()

    @server.tool(task_required=True)
    async def refused() -> None:
        raise RpcError(-32050, "not now", ["a"])

    @server.tool(task_required=True)
    async def ends() -> ToolResult:
        return ToolResult(is_error=True)

    @server.tool(task_required=True)
    async def waits() -> None:
        began.set()
        await anyio.sleep_forever()

    async with clients(server) as client:
        with pytest.raises(RpcError) as raised:
            await client.call_tool("refused", tasks=True)
        assert (raised.value.code, raised.value.data) == (-32050, ["a"])
        called = await client.call_tool("ends", tasks=True)
        assert isinstance(called, CallResult)
        assert called.is_error

        async def cancel(task: Mapping[str, Any]) -> None:
            if task["status"] == "working":
                await began.wait()
                await client._connection.exchange("tasks/cancel", {"taskId": task["taskId"]}, TASKS)

        with pytest.raises(TaskCancelled):
            await client.call_tool("waits", tasks=True, on_task=cancel)


async def test_a_task_is_waited_for_while_its_server_cannot_be_reached() -> None:
    looks = 0

    def lie(request: dict[str, Any]) -> bytes | None:
        nonlocal looks
        match request["method"]:
            case "tools/call":
                return result(request, {"resultType": "task", **WORKING})
            case "tasks/get":
                looks += 1
                ended = {**WORKING, "status": "completed", "result": {"content": []}}
                return [b"", raw_status("503 Service Unavailable"), result(request, answer(request, **ended))][
                    looks - 1
                ]
            case _:
                return result(request, answer(request, tools=[]))

    async with lying(lie) as url, Client(url) as client:
        with anyio.fail_after(5):
            called = await client.call_tool("work", tasks=True)
    assert isinstance(called, CallResult)
    assert looks == 3


async def test_a_server_that_stays_away_from_its_task_is_lost() -> None:
    def lie(request: dict[str, Any]) -> bytes | None:
        if request["method"] == "tools/call":
            return result(request, {"resultType": "task", **WORKING})
        if request["method"] == "tasks/get":
            return b""
        return result(request, answer(request, tools=[]))

    async with lying(lie) as url, Client(url, timeouts=Timeouts(lost_s=0.3)) as client:
        with anyio.fail_after(5), pytest.raises(ConnectionLost, match=r"away for 0\.3 s"):
            await client.call_tool("work", tasks=True)


RESULTS: dict[str, object] = {
    "no content": {"resultType": "complete"},
    "content that is a text": {"content": "x"},
    "a block that is a text": {"content": ["x"]},
    "a task that nobody wanted": {"resultType": "task", "taskId": "t", "status": "working"},
    "a type that nobody knows": {"resultType": "more", "content": []},
    "a state that is a number": {"resultType": "input_required", "requestState": 1},
    "requests in a list": {"resultType": "input_required", "inputRequests": []},
    "a request that is a text": {"resultType": "input_required", "inputRequests": {"a": "b"}},
}


@requirement("P2")
@pytest.mark.parametrize("members", RESULTS.values(), ids=RESULTS)
async def test_a_malformed_result_of_a_call_is_a_protocol_error(members: dict[str, object]) -> None:
    def lie(request: dict[str, Any]) -> bytes:
        if request["method"] == "tools/call":
            return result(request, members)
        return result(request, answer(request, tools=[]))

    async with lying(lie) as url, Client(url) as client:
        with anyio.fail_after(5), pytest.raises(ProtocolError):
            await client.call_tool("work")


LISTS: dict[str, object] = {
    "no tools": {},
    "a tool that is a text": {"tools": ["x"]},
    "a cursor that is a number": {"tools": [], "nextCursor": 1},
}


@requirement("P2")
@pytest.mark.parametrize("members", LISTS.values(), ids=LISTS)
async def test_a_malformed_list_of_tools_is_a_protocol_error(members: dict[str, object]) -> None:
    async with lying(lambda request: result(request, answer(request, **members))) as url, Client(url) as client:
        with anyio.fail_after(5), pytest.raises(ProtocolError):
            await client.list_tools()


async def test_a_malformed_tool_is_left_out() -> None:
    tools = [{"name": 7}, {"name": "a"}, {"name": "b", "inputSchema": {}, "icons": [], "annotations": {"a": 1}}]
    async with lying(lambda request: result(request, answer(request, tools=tools))) as url, Client(url) as client:
        with anyio.fail_after(5):
            (tool,) = await client.list_tools()
    assert (tool.name, tool.more, tool.annotations) == ("b", {"icons": []}, {"a": 1})


@requirement("T1")
async def test_a_call_that_is_cancelled_here_is_cancelled_there() -> None:
    server = Server("test")
    began, ended = anyio.Event(), anyio.Event()

    @server.tool()
    async def waits() -> None:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with clients(server) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "waits")
            await began.wait()
            group.cancel_scope.cancel()
        await ended.wait()


async def test_the_tools_are_said_to_be_others_at_once_and_at_each_change() -> None:
    server = Server("test")

    @server.tool()
    def first() -> None: ...

    async with clients(server) as client:
        changes = client.tool_changes()
        await anext(changes)
        server.remove_tool("first")
        await anext(changes)
        await changes.aclose()  # type: ignore[attr-defined]


async def test_a_session_of_the_older_era_that_is_over_is_begun_anew_by_the_next_request() -> None:
    sessions: list[str] = []

    def lie(request: dict[str, Any]) -> bytes:
        match request["method"]:
            case "server/discover":
                return raw_status("400 Bad Request")
            case "initialize":
                sessions.append(f"s{len(sessions)}")
                members = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
                head, body = result(request, members).split(b"\r\n\r\n")
                return head + f"\r\nmcp-session-id: {sessions[-1]}\r\n\r\n".encode() + body
            case "notifications/initialized":
                return raw_status("202 Accepted")
            case "tools/list" if len(sessions) == 1:
                return raw_status("404 Not Found")
            case _:
                assert "_meta" not in request["params"]
                return result(request, {"tools": [{"name": "a", "inputSchema": {}}]})

    async with lying(lie) as url, Client(url) as client:
        with anyio.fail_after(5):
            with pytest.raises(ConnectionLost, match="session"):
                await client.list_tools()
            assert [tool.name for tool in await client.list_tools()] == ["a"]
    assert len(sessions) == 2


@pytest.mark.parametrize(
    "code_and_data",
    [(-32022, {"supported": ["2027-01-01"]}), (-32020, None)],
    ids=["another version", "our headers"],
)
async def test_a_server_of_the_new_era_is_not_spoken_to_in_the_older(code_and_data: tuple[int, Any]) -> None:
    code, data = code_and_data
    asked: list[str] = []

    def lie(request: dict[str, Any]) -> bytes:
        asked.append(request["method"])
        error = {"code": code, "message": "no", **({} if data is None else {"data": data})}
        body = httpx2.Response(400, json={"jsonrpc": "2.0", "id": request["id"], "error": error}).content
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        return head.encode() + body

    async with lying(lie) as url, Client(url) as client:
        with anyio.fail_after(5), pytest.raises((ProtocolError, RpcError)):
            await client.list_tools()
    assert asked == ["server/discover"]
