"""A URI that ends in `/` watches everything below it (SR-7.2)."""

from __future__ import annotations

import pytest
from requirement import requirement

from streamres import Client, Server, Updated

from .frames import Binding
from .wire import Wire, moved, serving


@requirement("SR-7.2")
@requirement("SR-6.3")
async def test_resources_below_are_told_as_they_come_and_their_deltas_chain() -> None:
    server = Server("builds")
    async with (
        server.serve(port=0) as url,
        Client(url) as client,
        client.listen({"build://7/": None}, deliver="delta") as events,
    ):
        log = await server.create("build://7/log")
        created = await anext(events)
        await log.append("a")
        first = await anext(events)
        await log.append("b")
        second = await anext(events)

    assert isinstance(created, Updated)
    assert isinstance(first, Updated)
    assert isinstance(second, Updated)
    assert [created.uri, first.uri, second.uri] == ["build://7/log"] * 3
    assert (created.revision, created.update) == (0, None)
    assert first.update is not None
    assert (first.update.text, first.update.since) == ("a", created.cursor)
    assert second.update is not None
    assert (second.update.text, second.update.since) == ("b", first.cursor)


@requirement("SR-7.2")
@pytest.mark.parametrize("elsewhere", ["build://8/log", "build://70/log", "build://7"])
async def test_resources_elsewhere_are_not_told(elsewhere: str) -> None:
    server = Server("builds")
    other = await server.create(elsewhere)
    async with (
        server.serve(port=0) as url,
        Client(url) as client,
        client.listen({"build://7/": None}) as events,
    ):
        await other.append("not for you")
        await server.create("build://7/a/b/c")
        told = await anext(events)

    assert isinstance(told, Updated)
    assert told.uri == "build://7/a/b/c"


@requirement("SR-7.2")
@requirement("SR-7.3")
async def test_the_seal_of_one_below_is_told_and_ends_nothing() -> None:
    server = Server("builds")
    log = await server.create("build://7/log")
    async with (
        server.serve(port=0) as url,
        Client(url) as client,
        client.listen({"build://7/": None}) as events,
    ):
        await log.seal()
        sealed = await anext(events)
        await server.create("build://7/other")
        other = await anext(events)

    assert isinstance(sealed, Updated)
    assert isinstance(other, Updated)
    assert (sealed.state, other.uri) == ("complete", "build://7/other")


@requirement("SR-7.2")
async def test_the_nearest_of_two_that_cover_a_resource_says_what_is_delivered() -> None:
    server = Server("builds")
    log = await server.create("build://7/log")
    async with server.serve(port=0) as url, Client(url) as client:
        start = (await client.read("build://7/log")).cursor
        async with client.listen({"build://7/": None, "build://7/log": start}, deliver="delta") as events:
            await log.append("a")
            told = await anext(events)
            await log.append("b")
            then = await anext(events)

    assert isinstance(told, Updated)
    assert isinstance(then, Updated)
    assert [event.update.text if event.update else None for event in (told, then)] == ["a", "b"]


@requirement("SR-8.1")
async def test_a_list_says_for_whom_a_resource_is() -> None:
    async with serving() as wire:
        await wire.server.create("a:b", audience=["user"])
        listed = (await wire.ask("resources/list")).result["resources"]

    assert [entry.get("annotations") for entry in listed] == [None, {"audience": ["user"]}]


@requirement("SR-7.7")
async def test_a_uri_in_both_filters_is_delivered_as_its_stream_says(wire: Wire, binding: Binding) -> None:
    start = await wire.cursor()
    await wire.append("a")

    streams = {wire.uri: {"since": start, "deliver": "delta"}}
    async with wire.listen(binding, streams, core={"resourceSubscriptions": [wire.uri]}) as frames:
        await frames.take()
        update = moved(binding, await frames.take())

    assert update["delta"]["text"] == "a"
