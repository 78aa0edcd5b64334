"""The client's single requests and subscriptions against the real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from requirement import requirement
from server.wire import NOWHERE, OTHER, URI, serving

from streamres import (
    Client,
    ConnectionLost,
    CursorInvalid,
    Limits,
    ListChanged,
    Listed,
    ResourceNotFound,
    RpcError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from wire.recorder import Recorder

    from streamres import Updated

ODD_URI = "build://x/log?a=%F0%9F%98%80&b=1,2;c='d'"


async def test_a_list_of_many_pages_is_given_whole_and_in_order() -> None:
    async with serving(Limits(page_entries=2)) as wire, Client(wire.url) as client:
        for n in range(4):
            await wire.server.create(f"build://more/{n}")
        await wire.append("é")

        with anyio.fail_after(5):
            entries = await client.list()

    first = Listed(uri=URI, name="log", mime_type="text/plain", size=2, kind="text", state="open", revision=1)
    assert entries[0] == first
    assert [entry.uri for entry in entries[1:]] == [f"build://more/{n}" for n in range(4)]


async def test_a_url_without_a_path_is_the_endpoint_of_the_server() -> None:
    async with serving() as wire, Client(wire.url.removesuffix("/mcp")) as client:
        assert client.url == wire.url
        with anyio.fail_after(5):
            assert (await client.discover())["supportedVersions"] == ["2026-07-28"]


@requirement("SR-5.2")
@requirement("SR-5.7")
@requirement("SR-5.8")
async def test_a_read_asks_for_what_it_is_told_to() -> None:
    async with serving() as wire, Client(wire.url) as client:
        await wire.append("one\n", "two\n")
        with anyio.fail_after(5):
            page = await client.read(URI, max_bytes=4)
            rest = await client.read(URI, page.cursor)
            tail = await client.read(URI, tail_bytes=4)
            waited = await client.read(URI, rest.cursor, wait_ms=20)

    assert (page.text, page.more, page.since) == ("one\n", True, None)
    assert (rest.text, rest.more, rest.since) == ("two\n", False, page.cursor)
    assert (tail.text, tail.start) == ("two\n", 4)
    assert (waited.text, waited.cursor, waited.sealed) == ("", rest.cursor, False)


async def test_any_uri_is_carried_in_header_and_body() -> None:
    async with serving() as wire, Client(wire.url) as client:
        await wire.server.create(ODD_URI)
        await wire.append("x", uri=ODD_URI)

        with anyio.fail_after(5):
            assert (await client.read(ODD_URI)).text == "x"
            for uri in ("täst://ü", "", " x ", "=?base64?eA==?="):
                with pytest.raises(ResourceNotFound):
                    await client.read(uri)


@requirement("SR-5.6")
async def test_refusals_are_exceptions_of_their_own(recorder: Recorder) -> None:
    async with serving() as wire, Client(wire.url) as client:
        with anyio.fail_after(5):
            with pytest.raises(ResourceNotFound) as not_found:
                await client.read(NOWHERE)
            with pytest.raises(CursorInvalid):
                await client.read(URI, "no cursor")
            with pytest.raises(RpcError) as refused:
                await client.read(URI, max_bytes=0)

    assert (not_found.value.uri, refused.value.code) == (NOWHERE, -32602)
    assert recorder.take(), "that last request is off the schema, on purpose"


async def next_event(events: AsyncIterator[Updated | ListChanged]) -> Updated | ListChanged:
    with anyio.fail_after(5):
        return await anext(events)


@requirement("SR-7.1")
async def test_a_subscription_gives_cursors_deltas_and_list_changes() -> None:
    async with serving() as wire, Client(wire.url) as client:
        start = await wire.cursor()
        await wire.append("a")
        async with client.listen({URI: start}, deliver="delta", list_changed=True) as events:
            delta = await next_event(events)
            await wire.server.create(OTHER)
            changed = await next_event(events)
        async with client.listen({URI: start}) as events:
            cursor = await next_event(events)

    assert changed == ListChanged()
    assert not isinstance(delta, ListChanged)
    assert not isinstance(cursor, ListChanged)
    assert delta.update is not None
    assert (delta.update.text, delta.update.since) == ("a", start)
    assert (cursor.update, cursor.cursor, cursor.revision) == (None, delta.cursor, 1)


async def test_a_subscription_ends_when_the_server_ends_it() -> None:
    async with (
        serving() as wire,
        Client(wire.url) as client,
        client.listen({URI: None}, list_changed=True) as events,
    ):
        wire.server.close()
        with anyio.fail_after(5):
            assert [event async for event in events] == []


@requirement("SR-5.6")
async def test_a_malformed_cursor_in_a_subscription_is_refused() -> None:
    async with serving() as wire, Client(wire.url) as client:
        with anyio.fail_after(5), pytest.raises(CursorInvalid):
            async with client.listen({URI: "no cursor"}):
                pass


async def test_no_server_is_a_lost_connection() -> None:
    async with Client("http://127.0.0.1:1") as client:
        with anyio.fail_after(5), pytest.raises(ConnectionLost):
            await client.list()


@requirement("C1")
async def test_one_client_follows_more_resources_live_than_a_pool_has_connections() -> None:
    uris = [f"build://many/{n}" for n in range(110)]
    begun: set[str] = set()
    live: set[str] = set()
    all_begun = anyio.Event()
    async with serving() as wire, Client(wire.url) as client:
        for uri in uris:
            await wire.server.create(uri)
            await wire.append("begin", uri=uri)
        with anyio.move_on_after(20):
            async with anyio.create_task_group() as tasks:

                async def follow(uri: str) -> None:
                    async for update in client.follow(uri):
                        (begun if update.text == "begin" else live).add(uri)
                        if len(begun) == len(uris):
                            all_begun.set()
                        if len(live) == len(uris):
                            tasks.cancel_scope.cancel()

                for uri in uris:
                    tasks.start_soon(follow, uri)
                await all_begun.wait()
                for uri in uris:
                    await wire.append("live", uri=uri)

    assert (len(begun), len(live)) == (110, 110)


@requirement("C1")
@requirement("SR-5.8")
async def test_a_late_joiner_follows_from_the_tail_to_the_seal() -> None:
    async with serving() as wire, Client(wire.url) as client:
        await wire.append("first\n", "second\n")
        updates = client.follow(URI, tail_bytes=7)
        with anyio.fail_after(5):
            tail = await anext(updates)
            await wire.append("third\n")
            await wire.seal()
            rest = [update async for update in updates]

    assert (tail.text, tail.start) == ("second\n", 6)
    assert "".join(update.text for update in rest) == "third\n"
    assert rest[-1].sealed


@requirement("C2")
async def test_a_reader_that_comes_back_with_its_cursor_goes_on_from_there() -> None:
    async with serving() as wire, Client(wire.url) as client:
        await wire.append("before")
        with anyio.fail_after(5):
            first = await anext(client.follow(URI))
            await wire.seal(text=" and after")
            rest = [update.text async for update in client.follow(URI, first.cursor)]
            again = [update.text async for update in client.follow(URI, await wire.cursor())]

    assert (rest, again) == ([" and after"], [])
