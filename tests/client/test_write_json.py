"""Who writes a document makes each patch once, over cuts too, and is told at once of what is refused."""

from __future__ import annotations

import anyio
import pytest
from requirement import requirement

from streamres import Client, Limits, Server
from streamres.client.push import Producer
from streamres.errors import DeltaError, LimitExceeded, RpcError
from streamres.model.json_value import encode_json

from .proxy import Cut, cutting

URI = "agent://7/state"


@requirement("SR-9.1")
@requirement("SR-2.3")
async def test_a_producer_elsewhere_makes_each_patch_once_over_cuts() -> None:
    server = Server("documents")
    cuts = [Cut(more=more) for more in range(0, 600, 100)]
    async with server.serve(port=0, upload=True) as url, cutting(url, cuts) as proxy:
        async with Producer(proxy.url, URI, kind="json") as producer:
            with anyio.fail_after(30):
                await producer.patch([{"op": "add", "path": "", "value": []}])
                for number in range(30):
                    await producer.patch([{"op": "add", "path": "/-", "value": number}])
                await producer.append(b'[{"op":"add","path":"/-","value":30.0}]')
                await producer.seal()
        async with Client(url) as client:
            update = await client.read(URI)

    assert proxy.cuts >= 4
    assert encode_json(update.value) == encode_json([*range(30), 30.0])
    assert (update.state, update.revision) == ("complete", 33)


async def test_a_producer_is_told_of_a_patch_that_is_refused_and_goes_on() -> None:
    server = Server("documents")
    async with server.serve(port=0, upload=True) as url, Client(url) as client:
        async with Producer(url, URI, kind="json") as producer:
            await producer.patch([{"op": "add", "path": "", "value": {}}])
            with pytest.raises(RpcError) as caught:
                await producer.patch([{"op": "remove", "path": "/none"}])
            with pytest.raises(DeltaError):
                await producer.patch([{"op": "add", "path": "/a", "value": float("nan")}])
            await producer.patch([{"op": "add", "path": "/a", "value": 1}])

        assert caught.value.data == {"reason": "invalid_content"}
        assert (await client.read(URI)).value == {"a": 1}


@requirement("SR-12.3")
async def test_what_a_program_may_not_do_to_a_document_is_refused_in_process_too() -> None:
    server = Server("documents", limits=Limits(json_bytes=50))
    resource = await server.create(URI, kind="json")
    log = await server.create("build://7/log")

    with pytest.raises(DeltaError):
        await resource.append("text")
    with pytest.raises(DeltaError):
        await log.patch([])
    with pytest.raises(DeltaError):
        await resource.set({1: "a name that is no string"})
    with pytest.raises(DeltaError):
        await resource.replace([float("inf")])
    with pytest.raises(LimitExceeded):
        await resource.set("x" * 50)
    with pytest.raises(DeltaError):
        await server.create("build://8/log", value={"a": 1})
    with pytest.raises(LimitExceeded):
        await server.create("agent://8/state", kind="json", value="x" * 50)

    assert (resource.revision, resource.state) == (0, "open")
    assert [entry.description.uri for entry in await server.store.list(limit=9)] == [URI, "build://7/log"]
