"""Whatever stands in a text, a URI, a name or an id, the message around it is the JSON it should be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.limits import Limits
from streamres.model import Description, encode_cursor
from streamres.server import Dispatcher, LongReply, Reply, Stream
from streamres.store import MemoryStore

STREAM = "dev.streamres/stream"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
URI = "build://7/log"

NASTY = '\x00"\\\u2028\u2029\x85\x1b[1m\x7f\r\n\r\t\ufeff\ufffd\uffffe😀{"a":1}</script>\n\ndata: x\n\n'


async def exchange(
    store: MemoryStore, method: str, params: dict[str, Any], *, request_id: object = 1, name: str = "n"
) -> list[bytes]:
    """Gives every message that answers one request."""
    params = {**params, "_meta": {**params.get("_meta", {}), **MODERN}}
    body = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).encode()
    match await Dispatcher(store, Limits(), name=name, version="v").dispatch(body):
        case Reply(body=whole):
            return [whole]
        case LongReply(pieces=pieces):
            return [b"".join(pieces)]
        case Stream() as stream:
            sent: list[bytes] = []

            async def write(message: bytes) -> None:
                sent.append(message)

            await stream.run(write)
            return sent
        case other:
            raise AssertionError(other)


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def sealed(text: str) -> tuple[MemoryStore, str]:
    """A store with a sealed resource of this text, and the cursor of its beginning."""
    store = MemoryStore()
    start = await store.create(Description(uri=URI, name="log"))
    await store.append(URI, text.encode(), seal="complete")
    return store, encode_cursor(start.position, URI)


def loaded(message: bytes) -> Any:  # noqa: ANN401
    """The JSON of a message that can stand on one line of an event."""
    assert not {13, 10, 0} & set(message), "a line end or a NUL inside"
    return json.loads(message)


async def demand_in_reads(text: str) -> None:
    store, since = await sealed(text)

    (snapshot,) = await exchange(store, "resources/read", {"uri": URI})
    (delta,) = await exchange(store, "resources/read", {"uri": URI, "since": since})

    assert loaded(snapshot)["result"]["contents"][0]["text"] == text
    assert loaded(delta)["result"]["delta"]["text"] == text


async def demand_in_notifications(text: str, binding: str) -> None:
    store, since = await sealed(text)
    streams = {"resourceStreams": {URI: {"since": since, "deliver": "delta"}}}
    params: dict[str, Any] = {"notifications": streams if binding == "fields" else {}}
    if binding == "meta":
        params["_meta"] = {STREAM: streams}

    _, *updates, _ = map(loaded, await exchange(store, "subscriptions/listen", params))

    members = [(u["params"]["_meta"][STREAM] if binding == "meta" else u["params"]) for u in updates]
    assert "".join(member["delta"]["text"] for member in members) == text
    assert members[-1]["state"] == "complete"


LONG = {
    "accents": "é" * 100_000,
    "NULs": "\x00" * 200_000,
    "a mix": NASTY * 3_000,
    "all at once": NASTY,
    "nothing": "",
}


@requirement("SR-6.3")
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
async def test_a_long_or_nasty_text_is_carried_as_it_is(text: str) -> None:
    await demand_in_reads(text)
    for binding in ("fields", "meta"):
        await demand_in_notifications(text, binding)


@requirement("SR-8.4.a")
async def test_any_cause_is_carried_as_it_is_and_where_there_is_none_no_member_says_so() -> None:
    names = [NASTY, "steer-1", "\x00"]
    store = MemoryStore()
    since = encode_cursor((await store.create(Description(uri=URI, name="log"))).position, URI)
    for name in names:
        told = encode_cursor((await store.append(URI, NASTY.encode(), cause=name)).position, URI)
    await store.append(URI, b"x", seal="complete")

    for cursor, expected in ((since, names), (told, None)):
        asked = {"since": cursor, "deliver": "delta"}
        streams = {"resourceStreams": {URI: asked}}
        (open_read,) = await exchange(store, "resources/read", {"uri": URI, "since": cursor})
        (meta_read,) = await exchange(store, "resources/read", {"uri": URI, "_meta": {STREAM: {"since": cursor}}})
        (uri_read,) = await exchange(store, "resources/read", {"uri": f"{URI}?since={cursor}"})
        _, open_told, _ = await exchange(store, "subscriptions/listen", {"notifications": streams})
        _, meta_told, _ = await exchange(
            store, "subscriptions/listen", {"notifications": {}, "_meta": {STREAM: streams}}
        )
        deltas = [
            loaded(open_read)["result"]["delta"],
            loaded(meta_read)["result"]["_meta"][STREAM]["delta"],
            loaded(uri_read)["result"]["contents"][0]["_meta"][STREAM]["delta"],
            loaded(open_told)["params"]["delta"],
            loaded(meta_told)["params"]["_meta"][STREAM]["delta"],
        ]
        assert [delta.get("cause") for delta in deltas] == [expected] * 5
        assert all("cause" in delta for delta in deltas) == (expected is not None)
        assert not any("cause" in loaded(read)["result"] for read in (open_read, meta_read, uri_read))

    (whole,) = await exchange(store, "resources/read", {"uri": URI, "maxBytes": 100_000})
    assert loaded(whole)["result"]["cursor"]
    assert "cause" not in loaded(whole)["result"]


TEXTS = st.text(max_size=50) | st.text(st.sampled_from(NASTY), max_size=20)


@requirement("SR-6.3")
@given(TEXTS, st.sampled_from(["fields", "meta"]))
@settings(max_examples=50, deadline=None)
async def test_any_text_is_carried_as_it_is(text: str, binding: str) -> None:
    await demand_in_reads(text)
    await demand_in_notifications(text, binding)


@pytest.mark.parametrize(
    "request_id", [NASTY, "\x00", "\ufffe", "", 0], ids=["all", "NUL", "U+FFFE", "empty", "zero"]
)
async def test_any_id_comes_back_in_every_message(request_id: object) -> None:
    store, since = await sealed("text")
    streams = {"resourceStreams": {URI: {"since": since, "deliver": "delta"}}}

    sent = await exchange(store, "subscriptions/listen", {"notifications": streams}, request_id=request_id)
    (read,) = await exchange(store, "resources/read", {"uri": URI}, request_id=request_id)

    *notifications, end = map(loaded, sent)
    assert [n["params"]["_meta"][SUBSCRIPTION_ID] for n in notifications] == [request_id] * 2
    assert end["id"] == loaded(read)["id"] == end["result"]["_meta"][SUBSCRIPTION_ID] == request_id


async def test_a_uri_that_nobody_has_comes_back_whatever_it_is() -> None:
    store, _ = await sealed("")
    filters = {"resourceStreams": {NASTY: {}, URI: {}}, "resourceSubscriptions": [NASTY]}

    (error,) = await exchange(store, "resources/read", {"uri": NASTY})
    (refused,) = await exchange(store, "resources/list", {"cursor": NASTY})

    assert loaded(error)["error"]["data"] == {"uri": NASTY}
    assert loaded(refused)["error"]["code"] == -32602
    store_now = MemoryStore()
    (missing,) = await exchange(
        store_now, "subscriptions/listen", {"notifications": {**filters, "resourceStreams": 7}}
    )
    assert loaded(missing)["error"]["code"] == -32602


async def test_any_name_title_and_description_are_listed_as_they_are() -> None:
    store = MemoryStore()
    await store.create(Description(uri=URI, name=NASTY, title=NASTY, description=NASTY, mime_type=NASTY))

    (listed,) = await exchange(store, "resources/list", {}, name=NASTY)
    (read,) = await exchange(store, "resources/read", {"uri": URI})

    (entry,) = loaded(listed)["result"]["resources"]
    assert [entry[key] for key in ("name", "title", "description", "mimeType")] == [NASTY] * 4
    assert loaded(read)["result"]["contents"][0]["mimeType"] == NASTY
    assert loaded(listed)["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == NASTY


@pytest.mark.parametrize("method", [NASTY, ""], ids=["nasty", "empty"])
async def test_any_method_is_named_in_its_refusal(method: str) -> None:
    (refused,) = await exchange(MemoryStore(), method, {})

    assert loaded(refused)["error"]["code"] == -32601
