"""The official Python SDK 2.3.0, unchanged, against the real server: deltas and cursors come through `_meta`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client, advertise
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from requirement import requirement
from server.wire import EXTENSION, NOWHERE, OTHER, STREAM, URI, VERSION, serving

from streamres import Limits

if TYPE_CHECKING:
    from mcp.client.session import IncomingMessage


class Heard:
    """A message handler that keeps every notification of an updated resource."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self._came = anyio.Event()

    async def __call__(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updates.append((message.params.meta or {}).get(STREAM, {}))
            self._came.set()
            self._came = anyio.Event()

    async def until(self, count: int) -> list[dict[str, Any]]:
        with anyio.fail_after(5):
            while len(self.updates) < count:
                await self._came.wait()
        return self.updates


async def test_it_connects_in_the_new_era_and_learns_what_is_offered() -> None:
    async with serving() as wire, Client(wire.url) as client:
        with anyio.fail_after(5):
            assert client.session.protocol_version == VERSION
            capabilities = client.server_capabilities

    assert capabilities.resources is not None
    assert capabilities.resources.subscribe
    assert (capabilities.extensions or {})[EXTENSION]["kinds"] == ["text", "blob", "json"]


@requirement("SR-10.1")
async def test_it_lists_every_page_and_reads() -> None:
    async with serving(Limits(page_entries=1)) as wire, Client(wire.url) as client:
        await wire.server.create(OTHER, title="Other")
        await wire.append("é\x00\u2028")
        with anyio.fail_after(5):
            first = await client.list_resources()
            second = await client.list_resources(cursor=first.next_cursor)
            templates = await client.list_resource_templates()
            read = await client.read_resource(URI)

    assert [resource.uri for page in (first, second) for resource in page.resources] == [URI, OTHER]
    assert second.next_cursor is None
    assert [entry.uri_template for entry in templates.resource_templates] == [URI + "{?since,maxBytes}"]
    (contents,) = read.contents
    assert isinstance(contents, types.TextResourceContents)
    assert contents.text == "é\x00\u2028"


@requirement("SR-10.5")
@requirement("SR-10.3")
async def test_it_reads_a_delta_with_since_in_meta() -> None:
    async with serving() as wire, Client(wire.url) as client:
        await wire.append("old")
        with anyio.fail_after(5):
            first = await client.read_resource(URI, meta={STREAM: {}})
            cursor = (first.meta or {})[STREAM]["cursor"]
            await wire.append("new")
            second = await client.read_resource(URI, meta={STREAM: {"since": cursor}})
            await wire.append("er")
            third = await client.read_resource(URI, meta={STREAM: {"since": cursor, "waitMs": 1_000}})

    assert (second.contents, (second.meta or {})[STREAM]["delta"]["text"]) == ([], "new")
    assert (third.meta or {})[STREAM]["delta"]["text"] == "newer"


@requirement("SR-5.9")
async def test_its_cache_never_serves_a_stale_read() -> None:
    async with serving() as wire, Client(wire.url) as client:
        texts = []
        with anyio.fail_after(5):
            for text in ("a", "b"):
                await wire.append(text)
                (contents,) = (await client.read_resource(URI)).contents
                texts.append(contents.text)
            cursor = await wire.cursor()
            await client.read_resource(URI, meta={STREAM: {"since": cursor}})
            (contents,) = (await client.read_resource(URI)).contents
            await wire.seal(text="c")
            (last,) = (await client.read_resource(URI)).contents
            await wire.server.create(OTHER)
            listed = await client.list_resources()

    assert texts == ["a", "ab"]
    assert (contents.text, last.text) == ("ab", "abc")
    assert len(listed.resources) == 2


@requirement("SR-10.3")
async def test_declaring_meta_it_hears_the_cursor_in_every_notification_and_in_lists() -> None:
    heard = Heard()
    extensions = [advertise(EXTENSION, {"binding": "meta"})]
    async with serving() as wire, Client(wire.url, extensions=extensions, message_handler=heard) as client:
        with anyio.fail_after(5):
            listed = await client.list_resources()
            async with client.listen(resource_subscriptions=[URI]) as subscription:
                await wire.append("a")
                event = await anext(subscription)
                await heard.until(1)
                head = await wire.cursor()
                await wire.seal()
                await anext(subscription)
                with pytest.raises(StopAsyncIteration):
                    await anext(subscription)
            await heard.until(2)

    assert event == ResourceUpdated(uri=URI)
    first, last = heard.updates
    assert first == {"cursor": head, "revision": 1, "state": "open"}
    assert (last["revision"], last["state"]) == (2, "complete")
    assert (listed.resources[0].meta or {})[STREAM]["stream"] == {"kind": "text", "state": "open", "revision": 0}


@requirement("SR-10.5")
@requirement("SR-6.3")
async def test_a_listen_request_with_streams_in_meta_hears_the_deltas() -> None:
    heard = Heard()
    async with serving() as wire, Client(wire.url, message_handler=heard) as client:
        since = await wire.cursor()
        await wire.append("a")
        streams = {"resourceStreams": {URI: {"since": since, "deliver": "delta"}}}
        request = types.SubscriptionsListenRequest(
            params=types.SubscriptionsListenRequestParams(
                notifications=types.SubscriptionFilter(), _meta={STREAM: streams}
            )
        )
        ends: list[types.SubscriptionsListenResult] = []
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                ends.append(await client.session.send_request(request, types.SubscriptionsListenResult))

            tasks.start_soon(listen)
            await heard.until(1)
            await wire.append("b")
            await heard.until(2)
            await wire.seal()
            await heard.until(3)

    deltas = [update["delta"] for update in heard.updates]
    assert [delta["text"] for delta in deltas] == ["a", "b", ""]
    assert deltas[0]["from"] == since
    assert [delta["from"] for delta in deltas[1:]] == [delta["to"] for delta in deltas[:-1]]
    assert heard.updates[-1]["state"] == "complete"
    assert ends[0].result_type == "complete"


async def test_its_plain_subscription_hears_of_new_resources_and_commits_and_ends_in_order() -> None:
    async with serving() as wire, Client(wire.url) as client:
        with anyio.fail_after(5):
            async with client.listen(resources_list_changed=True, resource_subscriptions=[URI]) as subscription:
                await wire.append("a")
                updated = await anext(subscription)
                await wire.server.create(OTHER)
                changed = await anext(subscription)
                wire.server.close()
                with pytest.raises(StopAsyncIteration):
                    await anext(subscription)

    assert updated == ResourceUpdated(uri=URI)
    assert type(changed).__name__ == "ResourcesListChanged"


@requirement("SR-5.6")
async def test_a_refusal_reaches_it_with_code_and_data() -> None:
    async with serving() as wire, Client(wire.url) as client:
        with anyio.fail_after(5):
            with pytest.raises(MCPError) as unknown:
                await client.read_resource(NOWHERE)
            with pytest.raises(MCPError) as malformed:
                await client.read_resource(URI, meta={STREAM: {"since": "no cursor"}})

    assert (unknown.value.error.code, unknown.value.error.data) == (-32602, {"uri": NOWHERE})
    assert malformed.value.error.data == {"reason": "invalid_cursor", "uri": URI}


async def test_in_legacy_mode_it_initializes_lists_and_reads_a_delta() -> None:
    async with serving() as wire, Client(wire.url, mode="legacy") as client:
        since = await wire.cursor()
        await wire.append("x")
        with anyio.fail_after(5):
            listed = await client.list_resources()
            delta = await client.read_resource(URI, meta={STREAM: {"since": since}})

    assert [resource.uri for resource in listed.resources] == [URI]
    assert (delta.meta or {})[STREAM]["delta"]["text"] == "x"
