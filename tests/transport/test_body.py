"""The request's body: its type, its bound, and a peer that does not finish it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement
from server.wire import URI, serving

from streamres import Limits

from .raw import PING, connected, head_of

if TYPE_CHECKING:
    from server.wire import Wire

JSON = {"host": "localhost", "content-type": "application/json"}
TOO_MUCH = {"reason": "limit", "limit": "body_bytes", "value": 1_000}


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/json ;x"],
)
async def test_json_by_any_spelling_is_taken(wire: Wire, content_type: str) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

    assert (await wire.post(body, {"content-type": content_type})).status_code == 200


@pytest.mark.parametrize(
    "content_type", ["text/plain", "", "application/jsonp", "multipart/form-data; boundary=x"]
)
async def test_a_type_that_a_foreign_page_can_send_unasked_is_refused(wire: Wire, content_type: str) -> None:
    response = await wire.post(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', {"content-type": content_type})

    assert (response.status_code, response.json()["error"]["code"]) == (415, -32600)


@requirement("T3")
@requirement("SR-12.3")
@pytest.mark.parametrize("sent", [0, 500, 1_001], ids=["nothing", "half", "all"])
async def test_a_body_that_says_it_is_too_long_is_refused_before_it_comes(sent: int) -> None:
    async with serving(Limits(body_bytes=1_000)) as wire:
        async with connected(wire.url) as connection:
            await connection.send(head_of({**JSON, "content-length": "1001"}) + b"x" * sent)

            response = await connection.response()

            assert (response.status, response.json["error"]["data"]) == (413, TOO_MUCH)
            assert await connection.is_closed()
        assert (await wire.read(None)).status == 200


@requirement("T3")
@requirement("SR-12.3")
async def test_a_body_in_chunks_is_refused_at_the_limit(wire: Wire) -> None:
    async with serving(Limits(body_bytes=1_000)) as wire:
        async with connected(wire.url) as connection:
            await connection.send(head_of({**JSON, "transfer-encoding": "chunked"}))
            for _ in range(11):
                await connection.send(b"64\r\n" + b"x" * 100 + b"\r\n")

            response = await connection.response()

            assert (response.status, response.json["error"]["data"]) == (413, TOO_MUCH)
            assert await connection.is_closed()
        assert (await wire.read(None)).status == 200


@requirement("T3")
async def test_a_client_that_sends_far_too_much_still_gets_the_refusal() -> None:
    async with serving() as wire:
        response = await wire.post(b"x" * (16 * 1024 * 1024), {"content-type": "application/json"})

        assert (response.status_code, response.json()["error"]["data"]["limit"]) == (413, "body_bytes")
        assert (await wire.read(None)).status == 200


async def test_a_body_of_exactly_the_limit_is_taken() -> None:
    async with serving(Limits(body_bytes=1_000)) as wire:
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'.ljust(1_000)

        assert (await wire.post(body, {"content-type": "application/json"})).status_code == 200


@requirement("P5")
@pytest.mark.parametrize("chunked", [True, False], ids=["in chunks", "of a declared length"])
async def test_a_request_that_is_cut_is_never_served(chunked: bool) -> None:
    async with serving(upload=True) as wire:
        path = f"/upload?uri={URI}"
        framing = {"transfer-encoding": "chunked"} if chunked else {"content-length": "11"}
        async with connected(wire.url) as connection:
            await connection.send(
                head_of({**JSON, **framing}, path=path) + (b"4\r\nhalf\r\n" if chunked else b"half")
            )
            connection.cut()

        async with connected(wire.url) as connection:
            await connection.send(PING)
            assert (await connection.response()).status == 200
        assert (await wire.read(None)).text == ""


async def test_an_unknown_path_is_not_found(wire: Wire) -> None:
    response = await wire.http.post(wire.url + "/x", content=b"{}")

    assert response.status_code == 404


async def test_bytes_that_are_no_http_are_refused_and_the_server_goes_on(wire: Wire) -> None:
    async with connected(wire.url) as connection:
        await connection.send(b"\x16\x03\x01\x00\xa5 hello\r\n\r\n")
        assert b"400" in await connection.until(b"\r\n")

    assert (await wire.read(None)).status == 200
