"""What the conformance suite asks of a client, done with ours: `python tests/conformance/client.py URL`.

Which scenario it is stands in `MCP_CONFORMANCE_SCENARIO`. Our client offers resources alone; where a scenario is
about tools, the requests are made by hand on the client's connection, which owns ids, envelope, headers and
versions. A scenario that is not here ends with an error, and stands in `baseline.txt`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import anyio

from streamres import Client
from streamres.client import Timeouts
from streamres.client.connection import Connection

MRTR_TOOLS = ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type")


async def tools(connection: Connection) -> list[dict[str, Any]]:
    return (await connection.request("tools/list", {}))["tools"]


async def call(connection: Connection, name: str, **arguments: object) -> dict[str, Any]:
    """Calls a tool, and agrees to whatever it asks before it goes on (SEP-2322)."""
    params = {"name": name, "arguments": arguments}
    result = await connection.request("tools/call", params)
    while result.get("resultType", "complete") == "input_required":
        agreed = {"action": "accept", "content": {"confirmed": True}}
        answers: dict[str, Any] = {"inputResponses": dict.fromkeys(result["inputRequests"], agreed)}
        if "requestState" in result:
            answers["requestState"] = result["requestState"]
        result = await connection.request("tools/call", {**params, **answers})
    return result


async def every_method(connection: Connection) -> None:
    for tool in await tools(connection):
        await call(connection, tool["name"])
    for resource in (await connection.request("resources/list", {}))["resources"]:
        await connection.request("resources/read", {"uri": resource["uri"]})
    for prompt in (await connection.request("prompts/list", {}))["prompts"]:
        await connection.request("prompts/get", {"name": prompt["name"]})


async def echo_schema(connection: Connection) -> None:
    (schema,) = [
        tool["inputSchema"] for tool in await tools(connection) if tool["name"] == "json_schema_2020_12_tool"
    ]
    await call(connection, "json_schema_echo", schema=schema)


async def main(scenario: str, url: str) -> None:
    if scenario == "request-metadata":
        async with Client(url) as client:
            await client.discover()
        return
    connection = Connection(url, Timeouts())
    try:
        match scenario:
            case "tools_call":
                assert [tool["name"] for tool in await tools(connection)] == ["add_numbers"]
                await call(connection, "add_numbers", a=5, b=3)
            case "sep-2322-client-request-state":
                for name in MRTR_TOOLS:
                    await call(connection, name)
            case "http-standard-headers":
                await every_method(connection)
            case "json-schema-ref-no-deref":
                await tools(connection)
            case "json-schema-2020-12-preservation":
                await echo_schema(connection)
            case _ if scenario.startswith("auth/"):
                await tools(connection)
            case _:
                sys.exit(f"the client offers nothing for {scenario}")
    finally:
        await connection.close()


if __name__ == "__main__":
    anyio.run(main, os.environ["MCP_CONFORMANCE_SCENARIO"], sys.argv[1])
