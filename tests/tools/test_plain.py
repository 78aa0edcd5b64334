"""A plain call: schemas, results of every form, and what goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from pydantic import BaseModel
from requirement import requirement

from streamres import RpcError, Server
from streamres.errors import ToolError
from streamres.tools import Audio, Context, Embedded, Image, Link, Text, ToolResult

from .caller import calling, streams


class Point(BaseModel):
    x: int
    y: int = 0


@dataclass
class Sum:
    total: int
    title: str


async def test_the_schema_of_the_arguments_is_that_of_the_signature() -> None:
    server = Server("test")

    @server.tool(title="Add", annotations={"readOnlyHint": True}, streaming=True)
    def add(points: list[Point], mode: Literal["sum", "mean"] = "sum", *, context: Context) -> Sum:
        """Adds points.

        And more that no model needs.
        """
        return Sum(sum(point.x for point in points), mode)

    async with calling(server) as caller:
        listed = (await caller.ask("tools/list", {})).result
        (tool,) = listed["tools"]
        assert (tool["name"], tool["title"], tool["description"]) == ("add", "Add", "Adds points.")
        assert tool["annotations"] == {"readOnlyHint": True, "streamingHint": True}
        assert tool["inputSchema"]["required"] == ["points"]
        assert tool["inputSchema"]["additionalProperties"] is False
        assert set(tool["inputSchema"]["properties"]) == {"points", "mode"}
        assert tool["outputSchema"]["required"] == ["total", "title"]
        assert (listed["ttlMs"] > 0, "nextCursor" in listed) == (True, False)

        called = await caller.call("add", {"points": [{"x": 2}, {"x": 3}]})

        assert called.content_type == "application/json"
        assert called.result["structuredContent"] == {"total": 5, "title": "sum"}
        assert called.text == '{"total": 5, "title": "sum"}'


async def test_arguments_that_the_schema_forbids_are_told_to_the_model() -> None:
    server = Server("test")

    @server.tool()
    def add(a: int) -> str:
        raise AssertionError("called")

    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}

    @server.tool(input_schema=schema)
    async def raw(context: Context, arguments: dict[str, int]) -> str:
        raise AssertionError("called")

    async with calling(server) as caller:
        for name in ("add", "raw"):
            called = await caller.call(name, {"a": "many"})

            assert called.result["isError"] is True
            assert "a" in called.text


async def test_a_result_is_what_the_tool_gives() -> None:
    server = Server("test")
    blocks = [
        Text("a", audience=("user",)),
        Image(b"\x89", "image/png"),
        Audio(b"RIFF", "audio/wav"),
        Embedded("test://a", "text/plain", "é"),
        Embedded("test://b", "image/png", b"\xff"),
        Link("test://c", "c", "text/plain", "More."),
    ]

    @server.tool()
    def many() -> object:
        return blocks

    @server.tool()
    def nothing() -> None:
        pass

    @server.tool()
    def failed() -> ToolResult:
        return ToolResult(content=[Text("no")], is_error=True)

    async with calling(server) as caller:
        assert (await caller.call("many")).result["content"] == [
            {"type": "text", "text": "a", "annotations": {"audience": ["user"]}},
            {"type": "image", "data": "iQ==", "mimeType": "image/png"},
            {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "test://a", "mimeType": "text/plain", "text": "é"}},
            {"type": "resource", "resource": {"uri": "test://b", "mimeType": "image/png", "blob": "/w=="}},
            {
                "type": "resource_link",
                "uri": "test://c",
                "name": "c",
                "mimeType": "text/plain",
                "description": "More.",
            },
        ]
        assert (await caller.call("nothing")).result["content"] == []
        assert (await caller.call("failed")).result["isError"] is True


async def test_what_goes_wrong_in_a_tool_is_told_as_what_it_is() -> None:
    server = Server("test")

    @server.tool()
    def told() -> None:
        raise ToolError("the disk is full; free some")

    @server.tool()
    def broken() -> None:
        raise KeyError("x")

    @server.tool()
    def refused() -> None:
        raise RpcError(-32050, "not now", {"after": 3})

    async with calling(server) as caller:
        assert ((await caller.call("told")).text, (await caller.call("told")).result["isError"]) == (
            "the disk is full; free some",
            True,
        )
        assert (await caller.call("broken")).text == "broken failed: KeyError: 'x'"
        called = await caller.call("refused")
        assert called.error == {"code": -32050, "message": "not now", "data": {"after": 3}}


async def test_a_call_that_is_malformed_is_refused() -> None:
    server = Server("test")

    @server.tool()
    def fine() -> str:
        return "fine"

    async with calling(server) as caller:
        unknown = await caller.call("other")
        assert (unknown.status, unknown.error["code"]) == (400, -32602)
        for params in ({"arguments": []}, {"inputResponses": None}, {"requestState": 1}):
            assert (await caller.ask("tools/call", {"name": "fine", **params})).error["code"] == -32602
        bad = await caller.call("fine", meta={"progressToken": [1]})
        assert bad.error["code"] == -32602


@requirement("SR-10.1")
async def test_without_a_tool_there_is_no_word_of_tools_or_tasks() -> None:
    async with calling(Server("test")) as caller:
        capabilities = (await caller.ask("server/discover", {})).result["capabilities"]
        assert set(capabilities) == {"resources", "extensions"}
        assert list(capabilities["extensions"]) == ["dev.streamres/streamable-resources"]
        for method in ("tools/list", "tools/call", "tasks/get"):
            assert (await caller.ask(method, {})).status == 404


async def test_the_list_comes_in_pages_and_its_changes_are_told() -> None:
    server = Server("test")

    def offer(name: str) -> None:
        @server.tool(name)
        def tool() -> str:
            return name

    for number in range(250):
        offer(f"tool-{number}")
    with pytest.raises(ValueError, match="already"):
        offer("tool-7")
    with pytest.raises(ValueError, match="no name"):
        offer("a tool")

    async with calling(server) as caller:
        names: list[str] = []
        params: dict[str, str] = {}
        while True:
            page = (await caller.ask("tools/list", params)).result
            names += [tool["name"] for tool in page["tools"]]
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}
        assert names == [f"tool-{number}" for number in range(250)]

        wanted = {"notifications": {"toolsListChanged": True}}
        async with caller.begin("subscriptions/listen", wanted, streams()) as (_, messages):
            acknowledged = await anext(messages)
            assert acknowledged["params"]["notifications"]["toolsListChanged"] is True
            server.remove_tool("tool-7")
            assert (await anext(messages))["method"] == "notifications/tools/list_changed"
        assert (await caller.call("tool-7")).error["code"] == -32602


def test_a_function_that_is_no_tool_is_refused() -> None:
    server = Server("test")

    def many(*names: str) -> None: ...

    def odd(what: object = ...) -> None: ...

    with pytest.raises(TypeError, match="names"):
        server.tool()(many)
    with pytest.raises(ValueError, match="nope"):
        server.tool(input_schema={"type": "nope"})(odd)
