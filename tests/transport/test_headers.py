"""Headers that two readers could read differently are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from server.wire import URI, envelope

from .raw import connected, request

if TYPE_CHECKING:
    from server.wire import Wire

READ = request("resources/read", {"uri": URI, "_meta": envelope()})


@pytest.mark.parametrize("name", ["mcp-protocol-version", "mcp-method", "mcp-name", "MCP-Method"])
@pytest.mark.parametrize("same", [True, False], ids=["with the same value", "with another"])
async def test_a_routing_header_that_comes_twice_is_refused(wire: Wire, name: str, same: bool) -> None:
    head, _, body = READ.partition(b"\r\n\r\n")
    (line,) = (line for line in head.split(b"\r\n") if line.lower().startswith(name.lower().encode() + b":"))
    value = line.partition(b": ")[2] if same else b"other"

    async with connected(wire.url) as connection:
        await connection.send(head + b"\r\n" + name.encode() + b": " + value + b"\r\n\r\n" + body)
        response = await connection.response()

    assert (response.status, response.json["error"]["code"], response.json["id"]) == (400, -32020, 1)


async def test_other_headers_may_come_twice(wire: Wire) -> None:
    async with connected(wire.url) as connection:
        await connection.send(READ.replace(b"\r\n\r\n", b"\r\naccept: a\r\naccept: b\r\nx: 1\r\nX: 2\r\n\r\n", 1))

        assert (await connection.response()).status == 200


async def test_names_of_headers_are_read_in_any_case(wire: Wire) -> None:
    async with connected(wire.url) as connection:
        await connection.send(READ.replace(b"mcp-method", b"MCP-Method").replace(b"mcp-name", b"Mcp-Name"))

        assert (await connection.response()).status == 200


async def test_a_name_that_is_sent_as_raw_utf_8_is_not_ascii_and_refused(wire: Wire) -> None:
    raw = request("resources/read", {"uri": "täst://x", "_meta": envelope()})
    async with connected(wire.url) as connection:
        await connection.send(raw)

        assert (await connection.response()).json["error"]["code"] == -32020
