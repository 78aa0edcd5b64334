"""`server/discover`, `resources/list` and `resources/templates/list` over the wire."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres import Limits

from .wire import EXTENSION, NOWHERE, OTHER, SERVER_INFO, STREAM, URI, VERSION, serving

if TYPE_CHECKING:
    from .wire import Binding, Wire


async def pages(wire: Wire, cursor: str | None = None) -> list[list[str]]:
    found: list[list[str]] = []
    while True:
        result = (await wire.ask("resources/list", {} if cursor is None else {"cursor": cursor})).result
        found.append([entry["uri"] for entry in result["resources"]])
        if "nextCursor" not in result:
            return found
        cursor = result["nextCursor"]


@requirement("SR-10.7")
@requirement("SR-10.6")
async def test_discover_says_what_is_served_and_may_be_cached(wire: Wire) -> None:
    answer = await wire.ask("server/discover")

    result = answer.result
    assert set(result) == {"resultType", "supportedVersions", "capabilities", "ttlMs", "cacheScope", "_meta"}
    assert result["supportedVersions"] == [VERSION]
    assert result["capabilities"] == {
        "resources": {"subscribe": True, "listChanged": True},
        "extensions": {
            EXTENSION: {"kinds": ["text", "blob", "json"], "maxWaitMs": 30_000, "maxBytes": 16 * 1024 * 1024}
        },
    }
    assert result["_meta"] == {SERVER_INFO: {"name": "tested", "version": version("streamres")}}
    assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
    assert isinstance(result["ttlMs"], int)


async def test_discover_says_the_limits_that_are_set() -> None:
    async with serving(Limits(wait_ms=7, read_bytes=9)) as wire:
        result = (await wire.ask("server/discover")).result

    settings = result["capabilities"]["extensions"][EXTENSION]
    assert (settings["maxWaitMs"], settings["maxBytes"]) == (7, 9)


@requirement("SR-8.1")
async def test_a_listed_resource_says_where_its_stream_stands(binding: Binding) -> None:
    async with serving() as wire:
        await wire.server.create(OTHER, name="n", title="t", description="d", mime_type="text/x-log")
        await wire.append("é\n", "x")
        await wire.server.store.append(OTHER, b"", seal="aborted")

        first, second = (await wire.ask("resources/list", declared=binding)).result["resources"]

    streams = [
        entry.pop("stream") if binding == "fields" else entry.pop("_meta")[STREAM]["stream"]
        for entry in (first, second)
    ]
    assert streams == [
        {"kind": "text", "state": "open", "revision": 2},
        {"kind": "text", "state": "aborted", "revision": 1},
    ]
    assert first == {"uri": URI, "name": "log", "mimeType": "text/plain", "size": 4}
    described = {"uri": OTHER, "name": "n", "title": "t", "description": "d", "mimeType": "text/x-log", "size": 0}
    assert second == described


async def test_a_list_is_paged_in_the_order_of_creation_without_a_gap() -> None:
    async with serving(Limits(page_entries=3)) as wire:
        for n in range(6):
            await wire.server.create(f"build://more/{n}")

        found = await pages(wire)

    more = [f"build://more/{n}" for n in range(6)]
    assert found == [[URI, *more[:2]], more[2:5], more[5:]]


async def test_a_full_page_that_is_the_last_has_no_next_cursor() -> None:
    async with serving(Limits(page_entries=1)) as wire:
        assert await pages(wire) == [[URI]]


async def test_what_is_made_between_two_pages_is_on_a_later_one() -> None:
    async with serving(Limits(page_entries=1)) as wire:
        await wire.server.create(OTHER)
        cursor = (await wire.ask("resources/list")).result["nextCursor"]
        await wire.server.create(NOWHERE)

        assert await pages(wire, cursor) == [[OTHER], [NOWHERE]]


def page_cursor(uri: str) -> str:
    return urlsafe_b64encode(uri.encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [7, {}, "é", "abc", "!!!!", page_cursor("\x00")[:-1], page_cursor(NOWHERE)],
    ids=["a number", "an object", "not ASCII", "cut base64", "not base64", "no padding", "of another life"],
)
async def test_a_list_cursor_that_this_server_did_not_give_is_an_error_not_an_empty_page(
    wire: Wire, cursor: object
) -> None:
    answer = await wire.ask("resources/list", {"cursor": cursor})

    assert "error" in answer.message, answer.message
    assert answer.refusal == (400, -32602, {"reason": "invalid_params"})


@requirement("SR-10.4")
async def test_each_resource_is_also_a_template(wire: Wire, binding: Binding) -> None:
    for declared in (None, binding):
        result = (await wire.ask("resources/templates/list", declared=declared)).result

        expected = {"uriTemplate": wire.uri + "{?since,maxBytes}", "name": "log", "mimeType": "text/plain"}
        assert expected in result["resourceTemplates"]
        assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


@requirement("V1")
@pytest.mark.parametrize("request_id", ["one", "", "1", 0, -1, 2**53, '\x00\u2028"\\'], ids=repr)
async def test_an_answer_has_the_id_of_its_request_and_its_type(wire: Wire, request_id: object) -> None:
    answer = await wire.ask("server/discover", request_id=request_id)

    assert answer.message["id"] == request_id
    assert type(answer.message["id"]) is type(request_id)
