"""The binding `uri`: deltas for a client that knows nothing of the extension but how to expand a template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import uritemplate
from requirement import requirement

from .frames import STREAM
from .wire import URI, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from .wire import Wire

WITH_QUERY = "build://7/log?level=debug"


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """A server with one resource."""
    async with serving() as wire:
        yield wire


async def expanded(wire: Wire, uri: str = URI, **members: object) -> str:
    """The URI that a client makes from the resource's listed template."""
    listed = (await wire.ask("resources/templates/list")).result["resourceTemplates"]
    (template,) = [entry["uriTemplate"] for entry in listed if entry["uriTemplate"].startswith(uri + "{")]
    return uritemplate.expand(template, **members)


async def read(wire: Wire, uri: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The contents item and what stands in its `_meta`."""
    result = (await wire.ask("resources/read", {"uri": uri})).result
    (item,) = result["contents"]
    assert set(result) == {"resultType", "contents", "ttlMs", "cacheScope", "_meta"}
    assert item["uri"] == uri
    return item, item["_meta"][STREAM]


@requirement("SR-10.4")
@requirement("SR-5.9")
async def test_since_gives_the_delta_as_ordinary_contents_and_the_next_cursor(wire: Wire) -> None:
    await wire.append("a\n")
    first, standing = await read(wire, await expanded(wire, maxBytes=1000))
    await wire.append("é\n")
    await wire.seal()

    delta, then = await read(wire, await expanded(wire, since=standing["cursor"]))
    empty, end = await read(wire, await expanded(wire, since=then["cursor"]))

    assert (first["text"], standing["state"]) == ("a\n", "open")
    assert (delta["text"], then["state"]) == ("é\n", "complete")
    assert (then["delta"]["from"], then["delta"]["to"]) == (standing["cursor"], then["cursor"])
    assert (empty["text"], end["cursor"], end["digest"]) == ("", then["cursor"], then["digest"])


@requirement("SR-10.4")
@requirement("SR-5.7")
async def test_max_bytes_pages_through_the_text(wire: Wire) -> None:
    await wire.append("abcdef")
    item, standing = await read(wire, await expanded(wire, maxBytes=4))
    rest, end = await read(wire, await expanded(wire, since=standing["cursor"], maxBytes=4))

    assert (item["text"], standing["more"]) == ("abcd", True)
    assert (rest["text"], "more" in end) == ("ef", False)


@requirement("SR-10.4")
@requirement("SR-5.5")
async def test_a_reset_is_said_beside_the_snapshot(wire: Wire) -> None:
    await wire.append("old")
    _, standing = await read(wire, await expanded(wire, maxBytes=9))
    await wire.server.store.replace(URI, b"new")

    item, now = await read(wire, await expanded(wire, since=standing["cursor"]))

    assert (item["text"], now["reset"]) == ("new", "epoch")


@requirement("SR-10.4")
async def test_a_resource_with_a_query_of_its_own_is_read_since_too(wire: Wire) -> None:
    await wire.server.create(WITH_QUERY)
    await wire.append("a", uri=WITH_QUERY)
    _, standing = await read(wire, await expanded(wire, WITH_QUERY, maxBytes=9))
    await wire.append("b", uri=WITH_QUERY)

    item, _ = await read(wire, await expanded(wire, WITH_QUERY, since=standing["cursor"]))

    assert item["text"] == "b"


@requirement("SR-10.4")
@requirement("SR-5.6")
@pytest.mark.parametrize(
    ("query", "data"),
    [
        ("?since=garbage", {"reason": "invalid_cursor", "uri": URI}),
        ("?maxBytes=0", {"reason": "invalid_params"}),
        ("?maxBytes=-1", {"reason": "invalid_params"}),
        ("?maxBytes=%D9%A1", {"reason": "invalid_params"}),
        ("?sinc=x", {"uri": URI + "?sinc=x"}),
        ("?since=x&other=y", {"uri": URI + "?since=x&other=y"}),
        ("x?since=y", {"uri": URI + "x?since=y"}),
    ],
)
async def test_what_the_template_does_not_make_is_refused(wire: Wire, query: str, data: dict[str, str]) -> None:
    answer = await wire.ask("resources/read", {"uri": URI + query})

    assert answer.refusal == (400, -32602, data)


@requirement("SR-10.1")
async def test_the_resource_itself_is_read_plain(wire: Wire) -> None:
    await wire.append("a")

    (item,) = (await wire.ask("resources/read", {"uri": URI})).result["contents"]

    assert set(item) == {"uri", "mimeType", "text"}
