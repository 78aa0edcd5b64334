"""From one stream of a session to the next: nothing that was missed is lost, and nothing unsubscribed is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from requirement import requirement

from .older import begun, told
from .wire import serving

if TYPE_CHECKING:
    from .wire import Wire


@requirement("SR-10.9")
async def test_what_changed_between_the_subscription_and_the_stream_is_told_when_the_stream_opens(
    wire: Wire,
) -> None:
    client = await begun(wire)
    await client.subscribe()
    await wire.append("a", "b", "c")
    async with client.stream() as frames:
        first = told(await frames.take())
        await wire.append("d")
        second = told(await frames.take())

    assert (first[1]["revision"], second[1]["revision"]) == (3, 4)


@requirement("SR-10.9")
async def test_a_new_stream_tells_again_what_the_stream_before_was_sent_and_what_it_missed(wire: Wire) -> None:
    await wire.server.create(other := f"{wire.uri}/2")
    client = await begun(wire)
    await client.subscribe(wire.uri, other)
    async with client.stream() as frames:
        await wire.append("a")
        await frames.take()  # it was sent; whether it was taken, the server cannot know
    await wire.append("b", uri=other)
    async with client.stream() as frames:
        again = [told(await frames.take()) for _ in range(2)]
        await wire.append("c")
        live = told(await frames.take())

    assert [(uri, members["revision"]) for uri, members in again] == [(wire.uri, 1), (other, 1)]
    assert (live[0], live[1]["revision"]) == (wire.uri, 2)


@requirement("SR-10.9")
async def test_of_two_streams_the_older_ends_and_the_newer_is_told() -> None:
    async with serving() as wire:
        client = await begun(wire)
        await client.subscribe()
        async with client.stream() as older:
            await wire.append("a")
            await older.take()
            async with client.stream() as newer:
                assert await older.next() is None, "the older stream went on"
                assert told(await newer.take())[1]["revision"] == 1
                async with client.stream() as newest:
                    assert await newer.next() is None
                    await newest.take()
                    await wire.append("b")
                    assert told(await newest.take())[1]["revision"] == 2


@requirement("SR-10.9")
async def test_the_end_of_the_server_tells_the_rest_and_ends_the_newer_of_two_streams() -> None:
    async with serving() as wire:
        client = await begun(wire)
        await client.subscribe()
        async with client.stream() as older, client.stream() as newer:
            assert await older.next() is None
            await wire.append("a")
            await newer.take()
            await wire.append("b")
            wire.server.close()
            rest = await newer.rest()

    assert [told(frame)[1]["revision"] for frame in rest] == [2]


@requirement("SR-10.9")
async def test_the_end_of_the_server_ends_a_stream_that_took_the_place_of_another() -> None:
    async with serving() as wire:
        client = await begun(wire)
        async with client.stream() as older, client.stream() as newer:
            assert await older.next() is None
            wire.server.close()

            assert await newer.rest() == []


async def test_after_unsubscribe_nothing_is_told_of_it_on_any_stream(wire: Wire) -> None:
    await wire.server.create(other := f"{wire.uri}/2")
    client = await begun(wire)
    await client.subscribe(wire.uri, other)
    await wire.append("marked")
    async with client.stream() as frames:
        await frames.take()
        await client.unsubscribe(wire.uri)
        await wire.append("unheard")
        await wire.append("a", uri=other)
        live = told(await frames.take())
    async with client.stream() as frames:
        again = told(await frames.take())
        await wire.append("b", uri=other)
        then = told(await frames.take())

    assert [uri for uri, _ in (live, again, then)] == [other] * 3


async def test_what_is_marked_when_it_is_unsubscribed_is_not_told(wire: Wire) -> None:
    await wire.server.create(other := f"{wire.uri}/2")
    client = await begun(wire)
    await client.subscribe(wire.uri, other)
    await wire.append("a")
    await wire.append("a", uri=other)
    await client.unsubscribe(wire.uri)
    await client.unsubscribe("build://never-subscribed")
    async with client.stream() as frames:
        assert told(await frames.take())[0] == other


async def test_a_subscription_that_is_made_again_tells_nothing_from_before_it(wire: Wire) -> None:
    await wire.server.create(other := f"{wire.uri}/2")
    client = await begun(wire)

    async def again() -> None:
        await client.unsubscribe(wire.uri)
        await client.subscribe(wire.uri)

    await client.subscribe(wire.uri, other)
    await wire.append("marked")
    await again()
    await wire.append("a", uri=other)
    async with client.stream() as frames:
        first = told(await frames.take())
        await wire.append("told")
        await frames.take()
        await again()
    await wire.append("b", uri=other)
    async with client.stream() as frames:
        second = told(await frames.take())
        await wire.append("told too")
        third = told(await frames.take())

    assert [(uri, members["revision"]) for uri, members in (first, second, third)] == [
        (other, 1),
        (other, 2),
        (wire.uri, 3),
    ]
