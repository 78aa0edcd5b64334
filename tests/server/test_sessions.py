"""Sessions of the older era (SR-10.9): who is given one, and that nothing of it is left at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from .older import OLDER, Older, begun
from .wire import VERSION, WatchedStore, serving

if TYPE_CHECKING:
    from .wire import Wire


@requirement("SR-10.9")
@pytest.mark.parametrize("version", OLDER)
async def test_initialize_gives_a_session_and_says_that_updates_are_pushed(wire: Wire, version: str) -> None:
    client = Older(wire, version=version)

    answer = await client.initialize()

    assert answer["result"]["capabilities"] == {"resources": {"subscribe": True, "listChanged": True}}
    assert client.session is not None
    assert len(client.session) >= 22
    assert all("!" <= char <= "~" for char in client.session)


async def test_the_version_whose_transport_knows_no_session_gets_none(wire: Wire) -> None:
    client = Older(wire, version="2024-11-05")

    answer = await client.initialize()

    assert client.session is None
    assert answer["result"]["capabilities"] == {"resources": {}}


async def test_every_session_has_an_id_of_its_own_whatever_the_handshake_names(wire: Wire) -> None:
    first = await begun(wire)
    second = Older(wire, first.session)
    await second.initialize()
    lost = Older(wire, "of another life of the server")
    await lost.initialize()

    assert len({first.session, second.session, lost.session}) == 3
    assert None not in (second.session, lost.session)


@pytest.mark.parametrize("ended", ["deleted", "never begun"])
@requirement("SR-10.9")
async def test_a_session_that_is_not_there_is_404_for_every_message(wire: Wire, ended: str) -> None:
    client = await begun(wire)
    if ended == "deleted":
        assert (await client.request("DELETE")).status_code == 200
    else:
        client.session = "x" * 32

    requests = [
        await client.post("resources/read", {"uri": wire.uri}),
        await client.post("resources/subscribe", {"uri": wire.uri}),
        await client.post("ping"),
        await client.post("no/such/method"),
        await client.request("GET"),
        await client.request("DELETE"),
    ]

    assert {(answer.status_code, answer.json()["error"]["code"]) for answer in requests} == {(404, -32001)}
    assert requests[0].json()["id"] == 1
    body = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    notified = await wire.post(body, {"content-type": "application/json", **client.headers})
    assert notified.status_code == 404
    await client.initialize()
    await client.subscribe()


async def test_delete_ends_the_stream_and_the_watching() -> None:
    store = WatchedStore()
    async with serving(store=store) as wire:
        client = await begun(wire)
        await client.subscribe()
        async with client.stream() as frames:
            await wire.append("a")
            await frames.take()
            await client.request("DELETE")
            assert await frames.next() is None

        await store.until_watched_by(0)


async def test_the_end_of_the_server_leaves_nothing_watching() -> None:
    store = WatchedStore()
    async with serving(store=store) as wire:
        await (await begun(wire)).subscribe()
        await begun(wire)
        assert store.watchers == 2

    assert store.watchers == 0


async def test_without_a_session_list_and_read_go_on_and_get_and_delete_are_405(wire: Wire) -> None:
    await begun(wire)
    client = Older(wire)
    await wire.append("text")

    read = await client.ask("resources/read", {"uri": wire.uri})
    listed = await client.ask("resources/list")

    assert read["result"]["contents"][0]["text"] == "text"
    assert listed["result"]["resources"]
    for http_method in ("GET", "DELETE"):
        answer = await client.request(http_method)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_the_new_era_knows_no_session_and_no_get(wire: Wire) -> None:
    client = await begun(wire)
    client.version = VERSION

    for http_method in ("GET", "DELETE"):
        assert (await client.request(http_method)).status_code == 405

    client.version = OLDER[0]
    await client.subscribe()  # it is there still
