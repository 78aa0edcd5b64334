"""What the conformance suite asks of a client, done with ours: `python tests/conformance/client.py URL`.

Which scenario it is stands in `MCP_CONFORMANCE_SCENARIO`, and what it is to send in `MCP_CONFORMANCE_CONTEXT`.
Our client knows no prompts, so the suite skips what it would see of them. A scenario that is not here ends with
an error, and stands in `baseline.txt`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import anyio

from streamres import Client, ProtocolError

MRTR_TOOLS: Final = (
    "test_mrtr_echo_state",
    "test_mrtr_unrelated",
    "test_mrtr_no_state",
    "test_mrtr_no_result_type",
)
EXAMPLES: Final = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


async def agree(requests: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Agrees to whatever a tool asks before it goes on (SEP-2322)."""
    return {key: {"action": "accept", "content": {"confirmed": True}} for key in requests}


async def every_method(client: Client) -> None:
    for tool in await client.list_tools():
        await client.call_tool(tool.name)
    for resource in await client.list():
        with suppress(ProtocolError):  # the suite's resources are no streamable ones
            await client.read(resource.uri)


async def every_tool(client: Client) -> None:
    for tool in await client.list_tools():
        types = {name: schema["type"] for name, schema in tool.input_schema["properties"].items()}
        await client.call_tool(tool.name, {name: EXAMPLES[types[name]] for name in tool.input_schema["required"]})


async def echo_schema(client: Client) -> None:
    tools = {tool.name: tool for tool in await client.list_tools()}
    await client.call_tool("json_schema_echo", {"schema": tools["json_schema_2020_12_tool"].input_schema})


async def main(scenario: str, url: str) -> None:
    async with Client(url) as client:
        match scenario:
            case "request-metadata":
                await client.discover()
            case "tools_call":
                assert [tool.name for tool in await client.list_tools()] == ["add_numbers"]
                await client.call_tool("add_numbers", {"a": 5, "b": 3})
            case "sep-2322-client-request-state":
                for name in MRTR_TOOLS:
                    await client.call_tool(name, on_input=agree, capabilities={"elicitation": {}})
            case "http-standard-headers":
                await every_method(client)
            case "http-custom-headers":
                for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
                    await client.call_tool(call["name"], call["arguments"])
            case "http-invalid-tool-headers":
                await every_tool(client)
            case "json-schema-ref-no-deref":
                await client.list_tools()
            case "json-schema-2020-12-preservation":
                await echo_schema(client)
            case _ if scenario.startswith("auth/"):
                await client.list_tools()
            case _:
                sys.exit(f"the client offers nothing for {scenario}")


if __name__ == "__main__":
    anyio.run(main, os.environ["MCP_CONFORMANCE_SCENARIO"], sys.argv[1])
