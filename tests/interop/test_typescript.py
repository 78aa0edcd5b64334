"""The official TypeScript clients, unchanged: over HTTP, and over stdio to a server that they start.

`auto` and `default` are modes of @modelcontextprotocol/client, which by default speaks the older era; `sdk1` is
@modelcontextprotocol/sdk, which speaks nothing else. What a client drops is asserted too.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import pytest
from requirement import requirement
from server.wire import EXTENSION, NOWHERE, OTHER, STREAM, URI, VERSION

from streamres.client.push import Producer

from .typescript_client import Over, SceneOf

CLIENTS = ["auto", "default", "sdk1"]
OLD_VERSION = "2025-11-25"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"

every_client = pytest.mark.parametrize("client", CLIENTS)
old_clients = pytest.mark.parametrize("client", ["default", "sdk1"])
every_way = pytest.mark.parametrize("over", ["http", "stdio"])


@requirement("SR-5.9")
@requirement("SR-10.1")
@every_client
async def test_it_lists_templates_and_reads_what_is_there_each_time(scene: SceneOf, client: str) -> None:
    async with scene("look", "http", client) as seen:
        await seen.producer.append("é\x00\u2028".encode())
        first = await seen.program.go()
        async with Producer(seen.url, OTHER, kind="blob") as other:
            await other.append(b"\xff\x00")
            await seen.producer.append(b" more")
            second = await seen.program.go()
            await other.seal()
            await seen.producer.seal()
            third = await seen.program.go()

    assert seen.said["server"]["name"] == "streamres serve"
    listed, template, read = first["resources"], first["resourceTemplates"], first["reads"]
    assert listed == [{"uri": URI, "name": URI, "mimeType": "text/plain", "size": 6}]
    assert template == [{"uriTemplate": URI + "{?since,maxBytes}", "name": URI, "mimeType": "text/plain"}]
    assert [entry["contents"] for entry in read] == [
        [{"uri": URI, "mimeType": "text/plain", "text": "é\x00\u2028"}]
    ]
    for later in (second, third):
        assert [entry["uri"] for entry in later["resources"]] == [URI, OTHER]
        assert len(later["resourceTemplates"]) == 2
        text, blob = (entry["contents"][0] for entry in later["reads"])
        assert text["text"] == "é\x00\u2028 more"
        assert b64decode(blob["blob"]) == b"\xff\x00"


@every_client
async def test_it_speaks_its_era(scene: SceneOf, client: str) -> None:
    async with scene("look", "http", client) as seen:
        said = seen.said

    assert said.get("version") == {"auto": VERSION, "default": OLD_VERSION, "sdk1": None}[client]
    assert (EXTENSION in said["capabilities"].get("extensions", {})) == (client == "auto")


@requirement("SR-8.1.a")
@requirement("SR-10.3")
async def test_declaring_meta_it_shows_in_the_list_where_each_stream_stands(scene: SceneOf) -> None:
    async with scene("look", "http", "auto", "meta") as seen:
        await seen.producer.append(b"a")
        (listed,) = (await seen.program.go())["resources"]

    assert listed["_meta"] == {STREAM: {"stream": {"kind": "text", "state": "open", "revision": 1}}}


@requirement("SR-10.2")
async def test_declaring_fields_it_keeps_them_in_a_result_and_drops_them_from_a_list(scene: SceneOf) -> None:
    async with scene("look", "http", "auto", "fields") as seen:
        await seen.producer.append(b"a")
        said = await seen.program.go()
        head = await seen.head()

    assert set(said["resources"][0]) == {"uri", "name", "mimeType", "size"}
    assert said["reads"][0].items() >= head.items()


@requirement("SR-10.4")
@requirement("SR-10.5")
@every_client
@every_way
async def test_it_reads_since_by_meta_by_fields_and_by_template(scene: SceneOf, over: Over, client: str) -> None:
    async with scene("since", over, client, URI) as seen:
        await seen.producer.append(b"old ")
        before = await seen.head()
        first = await seen.program.go()
        await seen.producer.append(b"and new")
        after = await seen.head()
        reads = await seen.program.go()

    since = before["cursor"]
    delta = {"from": since, "to": after["cursor"], "kind": "text"}
    assert first["_meta"][STREAM] == before
    assert reads["meta"]["contents"] == reads["fields"]["contents"] == []
    assert reads["meta"]["_meta"][STREAM] == {**after, "delta": {**delta, "text": "and new"}}
    assert reads["fields"].items() >= {**after, "delta": {**delta, "text": "and new"}}.items()
    assert reads["uri"]["contents"] == [
        {
            "uri": f"{URI}?since={since}",
            "mimeType": "text/plain",
            "text": "and new",
            "_meta": {STREAM: {**after, "delta": delta}},
        }
    ]
    assert reads["whole"]["contents"][0]["text"] == "old and new"


@requirement("SR-5.4")
@requirement("SR-3.4")
@every_client
@every_way
async def test_it_follows_a_growing_text_to_its_seal_and_proves_every_byte(
    scene: SceneOf, over: Over, client: str
) -> None:
    pieces = ["old ", "é\u2028\U0001f600", "x" * 1024 * 1024, ""]  # the longest that is pushed in one append
    async with scene("follow", over, client, URI) as seen:
        producer = seen.producer
        await producer.append(pieces[0].encode())
        steps = [await seen.program.go()]
        for piece in pieces[1:]:  # each is made only when the client has said that it has the one before
            await (producer.append(piece.encode()) if piece else producer.seal())
            steps.append(await seen.program.line())
        end = await seen.program.line()

    assert [step["piece"] for step in steps] == pieces
    assert [step["revision"] for step in steps] == [1, 2, 3, 4]
    assert [step["state"] for step in steps] == ["open", "open", "open", "complete"]
    assert "delta" not in steps[0]
    assert [step["delta"]["from"] for step in steps[1:]] == [step["cursor"] for step in steps[:-1]]
    assert end == {"bytes": len("".join(pieces).encode()), "proven": True}


@requirement("SR-2.2")
@requirement("SR-3.4")
@every_client
async def test_a_late_one_gets_a_long_sealed_blob_in_one_answer_and_proves_it(scene: SceneOf, client: str) -> None:
    data = bytes(range(256)) * 8 * 1024
    async with scene("follow", "http", client, URI, kind="blob") as seen:
        await seen.producer.append(data)
        await seen.producer.seal("aborted")
        step = await seen.program.go()
        end = await seen.program.line()

    assert step["piece"] == b64encode(data).decode()
    assert (step["revision"], step["state"]) == (3, "aborted")
    assert end == {"bytes": 2 * 1024 * 1024, "proven": True}


@requirement("SR-13.1")
@every_client
async def test_a_refusal_reaches_it_with_code_and_data(scene: SceneOf, client: str) -> None:
    async with scene("refused", "http", client, URI, NOWHERE) as seen:
        await seen.producer.append(b"a")
        unknown = await seen.program.go()
        malformed = await seen.program.line()

    types = ("McpError", "McpError") if client == "sdk1" else ("ResourceNotFoundError", "ProtocolError")
    assert unknown == {"type": types[0], "code": -32602, "data": {"uri": NOWHERE}}
    assert malformed == {"type": types[1], "code": -32602, "data": {"reason": "invalid_cursor", "uri": URI}}


@requirement("SR-6.1")
@requirement("SR-7.3")
@requirement("SR-10.3")
@every_way
async def test_its_subscription_hears_the_cursor_in_meta_and_ends_at_the_seal(scene: SceneOf, over: Over) -> None:
    async with scene("listen", over, "auto", URI) as seen:
        await seen.producer.append(b"old ")
        acknowledged = await seen.program.go()
        told, heads = [], []
        for piece in (b"a", b"b", None):
            await (seen.producer.seal() if piece is None else seen.producer.append(piece))
            heads.append(await seen.head())
            told.append(await seen.program.line())
        end = await seen.program.line()

    assert acknowledged["honoured"] == {"resourceSubscriptions": [URI]}
    assert "delta" not in acknowledged["read"]
    assert [line["read"]["delta"]["text"] for line in told] == ["a", "b", ""]
    for line, head in zip(told, heads, strict=True):
        updated = line["updated"]
        assert (updated["uri"], updated["_meta"][SUBSCRIPTION_ID]) == (URI, "listen:0")
        assert updated["_meta"][STREAM].items() >= head.items()
    assert told[-1]["updated"]["_meta"][STREAM]["digest"] == told[-1]["read"]["digest"]
    assert end == {"closed": "graceful"}


@requirement("SR-6.3")
@requirement("SR-10.2")
@every_way
async def test_its_fallback_handler_hears_the_deltas(scene: SceneOf, over: Over) -> None:
    begin, told, end = await deltas_heard(scene, over, "fallback")

    deltas = [params["delta"] for params in told]
    assert [delta["text"] for delta in deltas] == ["a", "b", ""]
    assert [delta["from"] for delta in deltas] == [begin["since"], *(delta["to"] for delta in deltas[:-1])]
    assert [params["cursor"] for params in told] == [delta["to"] for delta in deltas]
    assert told[-1]["state"] == "complete"
    assert end == {"closed": "graceful"}


async def test_its_typed_handler_and_filter_drop_what_stands_in_the_open(scene: SceneOf) -> None:
    begin, told, _ = await deltas_heard(scene, "http", "typed")

    assert begin["honoured"] == {}
    assert [set(params) for params in told] == [{"_meta", "uri"}] * 3


async def deltas_heard(
    scene: SceneOf, over: Over, handler: str
) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    async with scene("deltas", over, "auto", URI, handler) as seen:
        await seen.producer.append(b"old ")
        begin = await seen.program.go()
        told = []
        for piece in (b"a", b"b", None):
            await (seen.producer.seal() if piece is None else seen.producer.append(piece))
            told.append((await seen.program.line())["updated"])
        return begin, told, await seen.program.line()


@requirement("SR-10.9")
@old_clients
@every_way
async def test_subscribed_as_before_it_hears_the_cursor_in_meta_until_it_unsubscribes(
    scene: SceneOf, over: Over, client: str
) -> None:
    async with scene("subscribe", over, client, URI, OTHER) as seen:
        await seen.producer.append(b"old ")
        subscribed = await seen.program.go()
        told, heads = [], []
        for piece in (b"a", b"b"):
            await seen.producer.append(piece)
            heads.append(await seen.head())
            told.append((await seen.program.line())["updated"])
        unsubscribed = await seen.program.go()
        await seen.producer.append(b"c")
        async with Producer(seen.url, OTHER) as other:
            await other.append(b"d")
        last = (await seen.program.line())["updated"]

    assert seen.said["capabilities"]["resources"]["subscribe"] is True
    assert (subscribed, unsubscribed) == ({"subscribed": [URI, OTHER]}, {"unsubscribed": URI})
    assert told == [{"uri": URI, "_meta": {STREAM: head}} for head in heads]
    assert last["uri"] == OTHER
