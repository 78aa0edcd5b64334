"""Lists and reads of a store on servers of the SDK and of FastMCP, by the official client and by our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from mcp.server import MCPServer, Server
from mcp.shared.exceptions import MCPError
from requirement import requirement
from server.wire import (
    EXTENSION,
    NOWHERE,
    OTHER,
    STREAM,
    URI,
    WatchedStore,
    envelope,
    headers_for,
    http_client,
    message,
)

import streamres
from streamres import Limits
from streamres.integrations.mcp_sdk import attach
from streamres.store import MemoryStore

from .site import OWN, OWN_TEMPLATE, OWN_TEXT, OWN_TOO, Kind, client_of, served, site, stream_of

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext


async def test_the_server_says_what_the_extension_offers_beside_what_it_offers_itself(kind: Kind) -> None:
    async with site(kind, limits=Limits(read_bytes=1_000)) as here, here.client() as client:
        offered = client.server_capabilities

    assert offered.resources is not None
    assert (offered.resources.subscribe, offered.resources.list_changed) == (True, True)
    extensions = offered.extensions or {}
    assert extensions[EXTENSION] == {"kinds": ["text", "blob", "json"], "maxWaitMs": 30_000, "maxBytes": 1_000}
    if kind == "Server":
        assert extensions["org.example/own"] == {"a": 1}
    if kind == "MCPServer":
        assert offered.tools is not None


async def test_the_list_has_the_servers_own_entries_and_then_ours_over_pages(kind: Kind) -> None:
    async with site(kind, limits=Limits(page_entries=1)) as here, here.client() as client:
        await here.producer.create(OTHER)
        pages, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            pages.append([entry.uri for entry in page.resources])
            cursor = page.next_cursor
            if cursor is None:
                break

    own = [[OWN], [OWN_TOO, URI]] if kind == "Server" else [[OWN, URI]]
    assert pages == [*own, [OTHER]]


@requirement("SR-5.9")
async def test_a_list_with_entries_of_ours_is_not_kept_by_its_reader(kind: Kind) -> None:
    async with site(kind) as here, here.client() as client:
        before = await client.list_resources(cursor="second" if kind == "Server" else None)
        await here.producer.create(OTHER)
        after = await client.list_resources(cursor="second" if kind == "Server" else None)

    assert before.ttl_ms == 0
    assert len(after.resources) == len(before.resources) + 1


@requirement("SR-10.4.a")
async def test_the_templates_are_the_servers_own_and_one_for_each_of_ours(kind: Kind) -> None:
    async with site(kind) as here, here.client() as client:
        listed = await client.list_resource_templates()

    assert [entry.uri_template for entry in listed.resource_templates] == [OWN_TEMPLATE, URI + "{?since,maxBytes}"]


@requirement("SR-8.1.a")
async def test_an_entry_says_where_its_stream_stands_in_the_binding_that_was_declared(kind: Kind) -> None:
    async with site(kind) as here, here.client(declared=True) as client, streamres.Client(here.url) as ours:
        listed = await client.list_resources(cursor="second" if kind == "Server" else None)
        in_fields = await ours.list()

    stream = {"kind": "text", "state": "open", "revision": 0}
    assert (listed.resources[-1].meta or {})[STREAM]["stream"] == stream
    assert listed.resources[0].meta is None or STREAM not in listed.resources[0].meta
    assert (in_fields[-1].uri, in_fields[-1].kind, in_fields[-1].state) == (URI, "text", "open")


@requirement("SR-10.1")
async def test_a_client_that_asks_for_nothing_gets_plain_contents(kind: Kind) -> None:
    async with site(kind) as here, here.client() as client:
        await here.log.append("é\x00\u2028")
        read = await client.read_resource(URI)

    (contents,) = read.contents
    assert isinstance(contents, types.TextResourceContents)
    assert contents.text == "é\x00\u2028"
    assert STREAM not in (read.meta or {})


@requirement("SR-10.3.a")
@requirement("SR-5.2.a")
async def test_the_official_client_reads_since_a_cursor_in_meta(kind: Kind) -> None:
    async with site(kind) as here, here.client() as client:
        await here.log.append("old")
        first = await client.read_resource(URI, meta={STREAM: {}})
        await here.log.append("new")
        second = await client.read_resource(URI, meta={STREAM: {"since": stream_of(first)["cursor"]}})
        cut = await client.read_resource(URI, meta={STREAM: {"maxBytes": 2}})
        tail = await client.read_resource(URI, meta={STREAM: {"tailBytes": 2}})
        await here.log.replace("other")
        third = await client.read_resource(URI, meta={STREAM: {"since": stream_of(second)["cursor"]}})

    assert (second.contents, stream_of(second)["delta"]["text"]) == ([], "new")
    assert (stream_of(cut)["more"], cut.contents[0].text) == (True, "ol")
    assert (stream_of(tail)["start"], tail.contents[0].text) == (4, "ew")
    assert (stream_of(third)["reset"], third.contents[0].text) == ("epoch", "other")


@requirement("SR-10.2.a")
async def test_members_in_the_open_survive_the_sdk(kind: Kind) -> None:
    async with site(kind) as here, streamres.Client(here.url) as client:
        first = await client.read(URI)
        await here.log.append("new")
        delta = await client.read(URI, first.cursor)

    assert (delta.text, delta.revision, delta.state) == ("new", 1, "open")


@requirement("SR-10.4.b")
async def test_an_expanded_uri_gives_the_delta_as_ordinary_contents(kind: Kind) -> None:
    async with site(kind) as here, here.client() as client:
        (first,) = (await client.read_resource(URI + "?maxBytes=9")).contents
        await here.log.append("new")
        (delta,) = (await client.read_resource(f"{URI}?since={(first.meta or {})[STREAM]['cursor']}")).contents

    assert isinstance(delta, types.TextResourceContents)
    assert delta.text == "new"


@requirement("SR-5.4.a")
async def test_a_read_waits_for_news(kind: Kind) -> None:
    store = WatchedStore()
    async with site(kind, store=store) as here, here.client() as client, anyio.create_task_group() as tasks:

        async def commit() -> None:
            await store.until_watched_by(1)
            await here.log.append("news")

        tasks.start_soon(commit)
        read = await client.read_resource(URI, meta={STREAM: {"since": here.log.cursor, "waitMs": 30_000}})

    assert stream_of(read)["delta"]["text"] == "news"


@requirement("SR-2.3.c")
async def test_a_document_and_its_patches_come_exactly(kind: Kind) -> None:
    value = {"none": None, "big": 2**80, "float": 1.5e300, "list": [None, {"deep": None}]}
    async with site(kind) as here, here.client() as client, streamres.Client(here.url) as ours:
        plan = await here.producer.create(OTHER, kind="json", value=value)
        first = await ours.read(OTHER)
        await plan.patch(
            [{"op": "add", "path": "/list/-", "value": None}, {"op": "test", "path": "/none", "value": None}]
        )
        delta = await ours.read(OTHER, first.cursor)
        in_meta = await client.read_resource(OTHER, meta={STREAM: {"since": first.cursor}})

    assert first.value == value
    assert delta.patch is not None
    assert delta.patch[0] == {"op": "add", "path": "/list/-", "value": None}
    assert stream_of(in_meta)["delta"]["patch"] == list(delta.patch)


async def test_a_uri_of_the_server_itself_is_read_by_its_own_handler(kind: Kind) -> None:
    async with site(kind) as here, here.client() as client:
        own = await client.read_resource(OWN)
        asked = await client.read_resource(OWN, meta={STREAM: {"since": "no cursor"}})

    assert [read.contents[0].text for read in (own, asked)] == [OWN_TEXT, OWN_TEXT]


@pytest.mark.parametrize("uri", ["own://note?maxBytes=many", "own://note?since=yesterday"])
async def test_a_uri_of_its_own_that_looks_expanded_is_its_own_affair(uri: str) -> None:
    async with site("Server") as here, here.client() as client:
        (contents,) = (await client.read_resource(uri)).contents

    assert (contents.uri, contents.text) == (uri, OWN_TEXT)


async def test_a_uri_of_nobody_is_refused_by_the_server_itself(kind: Kind) -> None:
    async with site(kind) as here, here.client() as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(NOWHERE)

    assert (refused.value.error.code, refused.value.error.data) == (-32602, {"uri": NOWHERE})


@requirement("SR-13.1")
@pytest.mark.parametrize(
    ("asked", "data"),
    [
        ({"since": "no cursor"}, {"reason": "invalid_cursor", "uri": URI}),
        ({"waitMs": "long"}, {"reason": "invalid_params"}),
        ({"since": "c", "tailBytes": 1}, {"reason": "invalid_params"}),
    ],
    ids=["a cursor that is none", "a member of a wrong type", "two members that exclude each other"],
)
async def test_a_refusal_keeps_its_code_data_and_status(
    kind: Kind, asked: dict[str, Any], data: dict[str, str]
) -> None:
    params = {"uri": URI, "_meta": envelope(), **asked}
    async with site(kind) as here, here.client() as client, http_client() as http:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(URI, meta={STREAM: asked})
        raw = await http.post(
            here.url, content=message("resources/read", params), headers=headers_for("resources/read", params)
        )

    assert (refused.value.error.code, refused.value.error.data) == (-32602, data)
    assert (raw.status_code, raw.json()["error"]["data"]) == (400, data)


async def test_a_store_alone_makes_a_server_of_resources() -> None:
    server: Server[Any] = Server("bare")
    store = MemoryStore()
    attach(server, store)
    log = await streamres.Server("producer", store=store).create(URI)
    await log.append("text")
    async with served(server.streamable_http_app()) as url:
        async with client_of(url) as client:
            listed = await client.list_resources()
            (contents,) = (await client.read_resource(URI)).contents
            with pytest.raises(MCPError) as unknown:
                await client.read_resource(NOWHERE)
        async with client_of(url, mode="legacy") as older:
            offered = older.server_capabilities.resources
            (again,) = (await older.read_resource(URI)).contents

    assert [entry.uri for entry in listed.resources] == [URI]
    assert contents.text == again.text == "text"
    assert (unknown.value.error.code, unknown.value.error.data) == (-32602, {"uri": NOWHERE})
    assert offered is not None
    assert not offered.subscribe


@requirement("SR-10.9.a")
async def test_an_older_client_lists_and_reads_a_delta_and_is_offered_no_updates(kind: Kind) -> None:
    async with site(kind) as here, here.client(mode="legacy") as client:
        since = here.log.cursor
        await here.log.append("x")
        listed = await client.list_resources(cursor="second" if kind == "Server" else None)
        delta = await client.read_resource(URI, meta={STREAM: {"since": since}})
        offered = client.server_capabilities.resources

    assert listed.resources[-1].uri == URI
    assert stream_of(delta)["delta"]["text"] == "x"
    assert offered is not None
    assert not offered.subscribe


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_where_the_server_itself_takes_older_subscriptions_one_for_ours_is_refused() -> None:
    taken: list[str] = []

    async def subscribe(ctx: object, params: types.SubscribeRequestParams) -> types.EmptyResult:
        taken.append(params.uri)
        return types.EmptyResult()

    async with site("Server") as here:
        here.low_level.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribe)
        async with here.client(mode="legacy") as client:
            await client.session.subscribe_resource(OWN)
            with pytest.raises(MCPError) as refused:
                await client.session.subscribe_resource(URI)

    assert taken == [OWN]
    assert refused.value.error.code == types.INVALID_REQUEST


async def test_the_servers_own_middleware_sees_the_requests_for_ours() -> None:
    seen: list[str] = []

    async def look(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        seen.append(ctx.method)
        return await call_next(ctx)

    server, store = MCPServer("watched", middleware=[look]), MemoryStore()
    attach(server, store)
    await streamres.Server("producer", store=store).create(URI)
    async with served(server.streamable_http_app()) as url, client_of(url) as client:
        await client.read_resource(URI)

    assert "resources/read" in seen


def test_a_second_store_is_refused() -> None:
    server = MCPServer("x")
    attach(server, MemoryStore())

    with pytest.raises(ValueError, match="one"):
        attach(server, MemoryStore())


def test_what_is_no_server_of_the_sdk_is_refused() -> None:
    with pytest.raises(TypeError, match="neither"):
        attach(streamres.Server("ours"), MemoryStore())


async def test_a_server_in_the_same_process_is_attached_to_alike() -> None:
    server, store = MCPServer("x"), MemoryStore()
    attach(server, store)
    log = await streamres.Server("producer", store=store).create(URI)
    async with client_of(server) as client:
        first = await client.read_resource(URI, meta={STREAM: {}})
        await log.append("new")
        delta = await client.read_resource(URI, meta={STREAM: {"since": stream_of(first)["cursor"]}})

    assert stream_of(delta)["delta"]["text"] == "new"
