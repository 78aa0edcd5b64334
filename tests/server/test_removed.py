"""A resource that is removed while it is followed, and one that no list has."""

from __future__ import annotations

import anyio
import pytest
from requirement import requirement

from streamres import Client, ResourceNotFound, Server, Updated
from streamres.client import ListChanged
from streamres.model import Description, encode_cursor

from .wire import WatchedStore

URI = "build://7/log"
HIDDEN = Description(uri="build://7/work", name="work", listed=False)


@requirement("SR-7.4.a")
@requirement("SR-7.4.b")
async def test_a_subscription_outlives_a_resource_that_is_removed_before_it_is_told_and_hears_of_the_next() -> (
    None
):
    server = Server("builds")
    await server.create(URI)
    async with (
        server.serve(port=0) as url,
        Client(url) as client,
        client.listen({URI: None}, deliver="delta") as events,
    ):
        # Nobody else runs between these two: the subscriber finds the mark of what is gone.
        await server.store.append(URI, b"a")
        await server.store.remove(URI)
        await anyio.wait_all_tasks_blocked()
        made = await server.store.create(Description(uri=URI, name="log"))
        with anyio.fail_after(5):
            told = await anext(events)

    assert isinstance(told, Updated)
    assert (told.cursor, told.update) == (encode_cursor(made.position, URI), None)


@requirement("SR-5.6.b")
async def test_a_held_read_of_what_is_removed_is_refused_when_its_time_is_up() -> None:
    store = WatchedStore()
    server = Server("builds", store=store)
    log = await server.create(URI)
    async with server.serve(port=0) as url, Client(url) as client, anyio.create_task_group() as tasks:

        async def read() -> None:
            with pytest.raises(ResourceNotFound):
                await client.read(URI, log.cursor, wait_ms=50)

        tasks.start_soon(read)
        await store.until_watched_by(1)
        await store.remove(URI)


async def test_what_is_not_listed_is_in_no_list_template_or_page_and_is_read_and_followed() -> None:
    server = Server("builds")
    start = await server.store.create(HIDDEN)
    async with (
        server.serve(port=0) as url,
        Client(url) as client,
        client.listen({"build://7/": None}, deliver="delta", list_changed=True) as events,
    ):
        await server.store.append(HIDDEN.uri, b"a", cause="steer-1")
        with anyio.fail_after(5):
            told = await anext(events)
            await server.store.append(HIDDEN.uri, b"b", cause="steer-2")
            pushed = await anext(events)
        update = await client.read(HIDDEN.uri, encode_cursor(start.position, HIDDEN.uri))
        assert await client.list() == []
        await server.store.remove(HIDDEN.uri)
        await server.create(URI)
        with anyio.fail_after(5):
            after = [await anext(events), await anext(events)]
        assert [entry.uri for entry in await client.list()] == [URI]

    assert isinstance(told, Updated)
    assert told.uri == HIDDEN.uri
    assert isinstance(pushed, Updated)
    assert pushed.update is not None
    assert (pushed.update.text, pushed.update.causes) == ("b", ("steer-2",))
    assert (update.text, update.causes) == ("ab", ("steer-1", "steer-2"))
    assert {type(event) for event in after} == {Updated, ListChanged}
