"""Subscriptions on servers of the SDK and of FastMCP: ours alone, and beside those of the server itself."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import mcp_types as types
import pytest
from httpx2 import EventSource
from interop.test_mcp_sdk import Heard
from mcp.client.subscriptions import (
    ListenNotSupportedError,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from requirement import requirement
from server.wire import (
    NOWHERE,
    OTHER,
    STREAM,
    SUBSCRIPTION_ID,
    URI,
    WatchedStore,
    envelope,
    headers_for,
    http_client,
    message,
)
from transport.raw import connected, request

import streamres

from .site import OWN, Kind, Site, site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from mcp.server.context import ServerRequestContext

    NextFrame = Callable[[], Awaitable[dict[str, Any]]]


@asynccontextmanager
async def listening(here: Site, notifications: Mapping[str, Any]) -> AsyncIterator[NextFrame]:
    """A raw subscription; gives what gives its next frame."""
    params = {"notifications": dict(notifications), "_meta": envelope()}
    body, headers = message("subscriptions/listen", params), headers_for("subscriptions/listen", params)
    async with http_client() as http, http.stream("POST", here.url, content=body, headers=headers) as response:
        events = aiter(EventSource(response))

        async def frame() -> dict[str, Any]:
            with anyio.fail_after(5):
                frame: dict[str, Any] = json.loads((await anext(events)).data)
                return frame

        yield frame


def method_of(frame: Mapping[str, Any]) -> str:
    return str(frame["method"]).removeprefix("notifications/")


async def test_the_official_client_hears_of_commits_and_of_new_resources(kind: Kind) -> None:
    async with (
        site(kind) as here,
        here.client() as client,
        client.listen(resources_list_changed=True, resource_subscriptions=[URI]) as subscription,
    ):
        await here.log.append("a")
        updated = await anext(subscription)
        await here.producer.create(OTHER)
        changed = await anext(subscription)

    assert updated == ResourceUpdated(uri=URI)
    assert isinstance(changed, ResourcesListChanged)


@requirement("SR-10.3.a")
@requirement("SR-6.3.a")
async def test_the_official_client_is_pushed_deltas_in_meta_and_the_end(kind: Kind) -> None:
    heard = Heard()
    ends: list[types.SubscriptionsListenResult] = []
    async with site(kind) as here, here.client(heard=heard) as client, anyio.create_task_group() as tasks:
        since = here.log.cursor
        await here.log.append("a")
        streams = {"resourceStreams": {URI: {"since": since, "deliver": "delta"}}}
        params = types.SubscriptionsListenRequestParams(
            notifications=types.SubscriptionFilter(), _meta={STREAM: streams}
        )

        async def listen() -> None:
            asked = types.SubscriptionsListenRequest(params=params)
            ends.append(await client.session.send_request(asked, types.SubscriptionsListenResult))

        tasks.start_soon(listen)
        await heard.until(1)
        await here.log.append("b")
        await heard.until(2)
        await here.log.seal()
        await heard.until(3)

    deltas = [update["delta"] for update in heard.updates]
    assert [delta["text"] for delta in deltas] == ["a", "b", ""]
    assert [delta["from"] for delta in deltas] == [since, *(delta["to"] for delta in deltas[:-1])]
    assert (heard.updates[-1]["state"], ends[0].result_type) == ("complete", "complete")


@requirement("SR-10.2.a")
@requirement("SR-3.4.a")
async def test_our_client_follows_to_the_seal_by_what_is_pushed_in_the_open(kind: Kind) -> None:
    async with site(kind) as here, streamres.Client(here.url) as client:
        text, sealed = "", False
        with anyio.fail_after(10):
            async for update in client.follow(URI):
                text += update.text
                sealed = update.sealed
                match update.revision:
                    case 0:
                        await here.log.append("one ")
                    case 1:
                        await here.log.append("two")
                    case 2:
                        await here.log.seal()

    assert (text, sealed) == ("one two", True)


@requirement("SR-2.3.c")
async def test_a_pushed_patch_comes_exactly(kind: Kind) -> None:
    async with site(kind) as here:
        plan = await here.producer.create(OTHER, kind="json", value={})
        async with listening(here, {"resourceStreams": {OTHER: {"deliver": "delta"}}}) as frame:
            await frame()
            await plan.patch(
                [{"op": "add", "path": "/none", "value": None}, {"op": "add", "path": "/big", "value": 2**80}]
            )
            updated = await frame()

    assert [step["value"] for step in updated["params"]["delta"]["patch"]] == [None, 2**80]


@requirement("SR-7.4.b")
async def test_what_is_not_there_yet_is_told_when_it_is(kind: Kind) -> None:
    async with (
        site(kind) as here,
        here.client() as client,
        client.listen(resource_subscriptions=[NOWHERE]) as subscription,
    ):
        await here.producer.create(NOWHERE)
        updated = await anext(subscription)

    assert updated == ResourceUpdated(uri=NOWHERE)


@requirement("SR-7.6")
async def test_a_malformed_filter_is_refused_with_code_data_and_status(kind: Kind) -> None:
    wrong = {"resourceStreams": {URI: {"since": "no cursor"}}}
    async with site(kind) as here, http_client() as http:
        params = {"notifications": wrong, "_meta": envelope()}
        refused = await http.post(
            here.url,
            content=message("subscriptions/listen", params),
            headers=headers_for("subscriptions/listen", params),
        )

    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (400, -32602)
    assert error["data"] == {"reason": "invalid_cursor", "uri": URI}


async def test_one_stream_carries_the_servers_own_changes_and_ours(listening_kind: Kind) -> None:
    async with (
        site(listening_kind) as here,
        here.client() as client,
        client.listen(
            tools_list_changed=True, resources_list_changed=True, resource_subscriptions=[OWN, URI]
        ) as subscription,
    ):
        honoured = subscription.honored
        await here.bus.publish(ToolsListChanged())
        first = await anext(subscription)
        await here.log.append("a")
        second = await anext(subscription)
        await here.bus.publish(ResourceUpdated(uri=OWN))
        third = await anext(subscription)

    assert honoured.tools_list_changed
    assert honoured.resources_list_changed
    assert honoured.resource_subscriptions == [OWN, URI]
    assert isinstance(first, ToolsListChanged)
    assert [second, third] == [ResourceUpdated(uri=URI), ResourceUpdated(uri=OWN)]


@requirement("V2")
async def test_both_are_acknowledged_in_one_frame_that_is_first(listening_kind: Kind) -> None:
    streams = {URI: {"since": None, "deliver": "delta"}}
    async with site(listening_kind) as here:
        cursor = here.log.cursor
        await here.log.append("a")
        streams[URI]["since"] = cursor
        asked = {"toolsListChanged": True, "resourceStreams": streams, "resourceSubscriptions": [OWN]}
        async with listening(here, asked) as frame:
            first, second = await frame(), await frame()
            await here.bus.publish(ToolsListChanged())
            third = await frame()

    honoured = first["params"]["notifications"]
    assert [method_of(each) for each in (first, second, third)] == [
        "subscriptions/acknowledged",
        "resources/updated",
        "tools/list_changed",
    ]
    assert honoured["toolsListChanged"] is True
    assert honoured["resourceSubscriptions"] == [OWN]
    assert honoured["resourceStreams"][URI]["deliver"] == "delta"
    assert second["params"]["delta"]["text"] == "a"
    assert {each["params"]["_meta"][SUBSCRIPTION_ID] for each in (first, second, third)} == {1}


@requirement("V2")
async def test_what_the_server_itself_sends_at_once_comes_after_the_acknowledgement() -> None:
    async def hasty(
        ctx: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        meta: Any = {SUBSCRIPTION_ID: ctx.request_id}
        honoured = types.SubscriptionFilter(tools_list_changed=True)
        acknowledged = types.SubscriptionsAcknowledgedNotificationParams(notifications=honoured, _meta=meta)
        for notification in (
            types.SubscriptionsAcknowledgedNotification(params=acknowledged),
            types.ToolListChangedNotification(params=types.NotificationParams(_meta=meta)),
        ):
            await ctx.session.send_notification(notification, ctx.request_id)
        return types.SubscriptionsListenResult(_meta=meta)

    async with site("Server") as here:
        here.low_level.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, hasty)
        async with listening(here, {"toolsListChanged": True, "resourceStreams": {URI: {}}}) as frame:
            first, second, end = await frame(), await frame(), await frame()

    assert [method_of(each) for each in (first, second)] == ["subscriptions/acknowledged", "tools/list_changed"]
    assert set(first["params"]["notifications"]) == {"toolsListChanged", "resourceStreams"}
    assert "result" in end


async def test_what_is_asked_of_the_server_alone_is_its_own_handlers(listening_kind: Kind) -> None:
    store = WatchedStore()
    async with (
        site(listening_kind, store=store) as here,
        here.client() as client,
        client.listen(tools_list_changed=True) as subscription,
    ):
        watchers = store.watchers
        await here.bus.publish(ToolsListChanged())
        event = await anext(subscription)

    assert watchers == 0
    assert isinstance(event, ToolsListChanged)


async def test_what_we_own_is_not_asked_of_the_server_itself(listening_kind: Kind) -> None:
    asked = {"toolsListChanged": True, "resourceSubscriptions": [URI]}
    async with site(listening_kind) as here, listening(here, asked) as frame:
        await frame()
        await here.bus.publish(ResourceUpdated(uri=URI))
        await here.bus.publish(ToolsListChanged())
        heard = await frame()

    assert method_of(heard) == "tools/list_changed"


@requirement("SR-7.3.a")
async def test_a_seal_ends_a_subscription_to_ours_but_not_to_both(listening_kind: Kind) -> None:
    async with site(listening_kind) as here:
        streams = {"resourceStreams": {URI: {}}}
        async with (
            listening(here, streams) as ours,
            listening(here, {**streams, "toolsListChanged": True}) as both,
        ):
            await ours()
            await both()
            await here.log.seal()
            sealed, end = await ours(), await ours()
            also_sealed = await both()
            await here.bus.publish(ToolsListChanged())
            goes_on = await both()
            here.attachment.close()
            also_ends = await both()

    assert sealed["params"]["state"] == also_sealed["params"]["state"] == "complete"
    assert end["result"]["_meta"][SUBSCRIPTION_ID] == 1
    assert method_of(goes_on) == "tools/list_changed"
    assert also_ends["result"]["_meta"][SUBSCRIPTION_ID] == 1


async def test_a_subscription_to_both_ends_with_the_servers_own() -> None:
    async with site("Server") as here:
        own = here.low_level.get_request_handler("subscriptions/listen")
        assert own is not None
        async with listening(here, {"resourceStreams": {URI: {}}, "toolsListChanged": True}) as frame:
            await frame()
            assert isinstance(own.handler, ListenHandler)
            own.handler.close()
            end = await frame()

    assert end["result"]["_meta"][SUBSCRIPTION_ID] == 1


async def test_close_ends_every_subscription_of_ours_with_its_result_and_every_wait(kind: Kind) -> None:
    store = WatchedStore()
    async with site(kind, store=store) as here, here.client() as client:
        answers: list[Any] = []

        async def wait() -> None:
            asked = {STREAM: {"since": here.log.cursor, "waitMs": 30_000}}
            answers.append(await client.read_resource(URI, meta=asked))

        filters = [{"resourceStreams": {URI: {}}}, {"resourceStreams": {URI: {}}, "toolsListChanged": True}]
        async with listening(here, filters[0]) as one, listening(here, filters[1]) as two:
            await one()
            await two()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                await store.until_watched_by(3)
                here.attachment.close()
            ends = [await one(), await two()]

    assert ["result" in end for end in ends] == [True, True]
    assert answers[0].meta[STREAM]["delta"]["text"] == ""


async def test_a_refusal_of_the_servers_own_handler_refuses_the_whole() -> None:
    async with site("Server") as here, here.client() as client:
        own = ListenHandler(here.bus, max_subscriptions=0)
        here.low_level.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, own)
        with pytest.raises(MCPError) as refused:
            async with client.listen(tools_list_changed=True, resource_subscriptions=[URI]):
                pass
        async with client.listen(resource_subscriptions=[URI]) as ours:
            await here.log.append("a")
            event = await anext(ours)

    assert (refused.value.error.code, refused.value.error.message) == (-32603, "Subscription limit reached")
    assert event == ResourceUpdated(uri=URI)


@requirement("T1")
async def test_a_peer_that_leaves_ends_what_it_asked_for(kind: Kind) -> None:
    store = WatchedStore()
    params = {"notifications": {"resourceStreams": {URI: {}}, "toolsListChanged": True}, "_meta": envelope()}
    async with site(kind, store=store) as here, here.client() as client, connected(here.url) as leaving:
        port = httpx2.URL(here.url).port
        await leaving.send(request("subscriptions/listen", params, accept="*/*", host=f"127.0.0.1:{port}"))
        await leaving.until(b"acknowledged")
        await store.until_watched_by(1)
        async with client.listen(resource_subscriptions=[URI]):
            await store.until_watched_by(2)

            leaving.cut()
            await store.until_watched_by(1)

        await store.until_watched_by(0)


async def test_an_older_client_has_no_subscriptions(kind: Kind) -> None:
    async with site(kind) as here, here.client(mode="legacy") as client:
        with pytest.raises(ListenNotSupportedError):
            async with client.listen(resource_subscriptions=[URI]):
                pass
