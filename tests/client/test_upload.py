"""Appends over HTTP: numbered, demanding, sealing, refused; a refusal changes nothing (section 9)."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import anyio
import pytest
from requirement import requirement
from server.wire import NOWHERE, URI, serving

from streamres import ConnectionLost, Limits, Producer
from streamres.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from server.wire import Wire

    from streamres.model import Head


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with serving(Limits(append_bytes=100), upload=True) as wire:
        yield wire


async def upload(
    wire: Wire, body: bytes = b"", uri: str = URI, method: str = "POST", **query: object
) -> tuple[int, Any]:
    url = wire.url.replace("/mcp", "/upload?") + urlencode({"uri": uri, **query})
    with anyio.fail_after(5):
        response = await wire.http.request(method, url, content=body)
    return response.status_code, response.json()


def numbered(seq: int, *, epoch: int = 1, producer: str = "p") -> dict[str, object]:
    return {"producer": producer, "epoch": epoch, "seq": seq}


@requirement("SR-9.1")
@requirement("SR-9.2")
async def test_an_append_is_answered_with_where_the_resource_stands(wire: Wire) -> None:
    status, first = await upload(wire, "é\x00\n".encode())

    assert (status, first) == (200, {"cursor": await wire.cursor(), "revision": 1, "state": "open"})
    assert (await wire.read(None)).text == "é\x00\n"


async def test_a_resource_that_is_not_there_is_made(wire: Wire) -> None:
    status, _ = await upload(wire, b"new", NOWHERE)

    assert status == 200
    assert (await wire.read(None, NOWHERE)).text == "new"


@requirement("SR-9.2")
@pytest.mark.parametrize("seal", ["complete", "aborted"])
async def test_append_and_seal_are_one_step(wire: Wire, seal: str) -> None:
    status, body = await upload(wire, b"all", seal=seal)

    assert (status, body["revision"], body["state"]) == (200, 1, seal)
    assert (await wire.read(None)).text == "all"


@requirement("SR-9.1")
async def test_a_repeat_is_acknowledged_with_the_cursor_of_the_first_time_and_changes_nothing(wire: Wire) -> None:
    _, first = await upload(wire, b"same\n", **numbered(0))
    await upload(wire, b"same\n", **numbered(1))

    status, again = await upload(wire, b"same\n", **numbered(0))

    assert (status, again) == (200, first)
    assert (await wire.read(None)).text == "same\nsame\n"


@requirement("SR-9.1")
async def test_a_repeat_of_the_seal_is_acknowledged_after_it(wire: Wire) -> None:
    _, first = await upload(wire, b"end", seal="complete", **numbered(0))

    assert await upload(wire, b"end", seal="complete", **numbered(0)) == (200, first)


REFUSED: dict[str, tuple[bytes, dict[str, object], int, dict[str, object]]] = {
    "a repeat with other bytes": (b"other", numbered(0), 409, {"reason": "conflict", "seq": 0, "expected": 1}),
    "a gap": (b"x", numbered(5), 409, {"reason": "gap", "seq": 5, "expected": 1}),
    "an older epoch": (b"x", numbered(0, epoch=0), 409, {"reason": "fenced", "epoch": 0, "current": 1}),
    "a new epoch that does not begin at 0": (
        b"x",
        numbered(1, epoch=2),
        409,
        {"reason": "gap", "seq": 1, "expected": 0},
    ),
    "another revision": (b"x", {"revision": 0}, 409, {"reason": "revision", "expected": 0, "actual": 1}),
    "an unknown seal": (b"x", {"seal": "open"}, 400, {"reason": "invalid_params"}),
    "a revision that is no number": (b"x", {"revision": "-1"}, 400, {"reason": "invalid_params"}),
    "a number of another script": (b"x", {**numbered(1), "seq": "\u0661"}, 400, {"reason": "invalid_params"}),
    "a number without end": (b"x", {**numbered(1), "seq": "9" * 5_000}, 400, {"reason": "invalid_params"}),
    "a producer without a number": (b"x", {"producer": "p", "epoch": 1}, 400, {"reason": "invalid_params"}),
    "a number without a producer": (b"x", {"epoch": 1, "seq": 1}, 400, {"reason": "invalid_params"}),
    "more than the limit": (b"x" * 101, {}, 413, {"reason": "limit", "limit": "append_bytes", "value": 100}),
}


@requirement("SR-9.1")
@requirement("SR-9.2")
@requirement("SR-12.3")
@requirement("M3")
@pytest.mark.parametrize(("body", "query", "status", "data"), REFUSED.values(), ids=REFUSED)
async def test_a_refused_append_says_what_was_expected_and_changes_nothing(
    wire: Wire, body: bytes, query: dict[str, object], status: int, data: dict[str, object]
) -> None:
    _, before = await upload(wire, b"kept", **numbered(0))

    answer = await upload(wire, body, **query)

    assert answer[0] == status
    assert {**answer[1]["error"]["data"], **data} == answer[1]["error"]["data"]
    assert await wire.cursor() == before["cursor"]
    assert (await upload(wire, b" on", **numbered(1)))[0] == 200
    assert (await wire.read(None)).text == "kept on"


@requirement("M3")
@pytest.mark.parametrize(
    ("body", "query"),
    [(b"x", {"revision": 7}), (b"x", numbered(3)), (b"\xff" * 50, {}), (b"x", {"seal": "ajar"})],
    ids=["a revision that is not there", "a gap", "too long once it is UTF-8", "an unknown seal"],
)
async def test_a_refused_append_makes_no_resource(wire: Wire, body: bytes, query: dict[str, object]) -> None:
    status, _ = await upload(wire, body, NOWHERE, **query)

    assert status >= 400
    assert (await wire.read(None, NOWHERE)).error["data"] == {"uri": NOWHERE}


@requirement("SR-9.3")
@pytest.mark.parametrize(
    "query", [{}, {"seal": "aborted"}, numbered(0)], ids=["plain", "another seal", "numbered"]
)
async def test_after_the_seal_every_write_is_refused(wire: Wire, query: dict[str, object]) -> None:
    await upload(wire, b"all", seal="complete")

    status, body = await upload(wire, b"x", **query)

    assert (status, body["error"]["data"]) == (409, {"reason": "sealed", "uri": URI, "state": "complete"})
    assert (await wire.read(None)).text == "all"


@requirement("SR-9.1")
async def test_a_new_epoch_takes_over_and_the_old_one_is_fenced(wire: Wire) -> None:
    await upload(wire, b"a", **numbered(0, epoch=1))
    await upload(wire, b"b", **numbered(0, epoch=2))

    status, body = await upload(wire, b"x", **numbered(1, epoch=1))

    assert (status, body["error"]["data"]["current"]) == (409, 2)
    assert (await wire.read(None)).text == "ab"


@requirement("SR-2.1")
@pytest.mark.parametrize("number", [True, False], ids=["numbered", "plain"])
async def test_a_code_point_that_two_uploads_share_is_not_lost_in_silence(wire: Wire, number: bool) -> None:
    whole = "é😀".encode()

    answers = [
        await upload(wire, piece, **(numbered(seq) if number else {}))
        for seq, piece in enumerate([whole[:3], whole[3:]])
    ]

    text = (await wire.read(None)).text
    assert text == "é😀" or any(status >= 400 for status, _ in answers), "prior art, bug 1"


@pytest.mark.parametrize(
    "uri", ["", "no-scheme", "a b://c", "x" * 3_000 + ":y"], ids=["none", "no scheme", "space", "long"]
)
async def test_a_uri_that_is_none_is_refused(wire: Wire, uri: str) -> None:
    status, body = await upload(wire, b"x", uri)

    assert (status, body["error"]["data"]["reason"]) == (400, "invalid_uri")


async def test_uploads_are_taken_only_where_they_were_asked_for_and_by_no_other_method(wire: Wire) -> None:
    async with serving() as without:
        elsewhere = await without.http.post(without.url.replace("/mcp", "/upload"))

    assert (await wire.http.delete(wire.url.replace("/mcp", "/upload"))).status_code == 405
    assert elsewhere.status_code == 404


@requirement("SR-2.4")
async def test_put_replaces_all_content_in_an_epoch_of_its_own(wire: Wire) -> None:
    _, before = await upload(wire, b"old")

    status, after = await upload(wire, "é\n".encode(), method="PUT")

    assert (status, after["revision"], after["state"]) == (200, 0, "open")
    reset = await wire.read("fields", since=before["cursor"])
    assert (reset.text, reset.result["reset"], reset.result["cursor"]) == ("é\n", "epoch", after["cursor"])


@requirement("SR-2.4")
@pytest.mark.parametrize(("kind", "content"), [("text", b"new"), ("blob", b"\xff"), ("json", b'{"a": 1}')])
async def test_put_makes_what_is_not_there(wire: Wire, kind: str, content: bytes) -> None:
    status, answer = await upload(wire, content, NOWHERE, method="PUT", kind=kind)

    assert (status, answer["revision"], answer["state"]) == (200, 0, "open")
    (item,) = (await wire.read(None, NOWHERE)).result["contents"]
    assert item.get("text", item.get("blob")) == {"text": "new", "blob": "/w==", "json": '{"a":1}'}[kind]


@requirement("SR-9.3")
@requirement("SR-13.1")
@pytest.mark.parametrize(
    ("content", "query", "reason"),
    [
        (b"x", {"seal": "complete"}, "invalid_params"),
        (b"x", {"producer": "p", "epoch": 0, "seq": 0}, "invalid_params"),
        (b"x", {"kind": "json"}, "invalid_content"),
        (b"x" * 101, {}, "limit"),
    ],
)
async def test_a_put_that_is_refused_changes_nothing(
    wire: Wire, content: bytes, query: dict[str, Any], reason: str
) -> None:
    _, before = await upload(wire, b"old")

    status, answer = await upload(wire, content, method="PUT", **query)

    assert status in (400, 413)
    assert answer["error"]["data"]["reason"] == reason
    assert await wire.cursor() == before["cursor"]


@requirement("SR-9.3")
async def test_a_put_after_the_seal_is_refused(wire: Wire) -> None:
    await upload(wire, b"all", seal="complete")

    status, answer = await upload(wire, b"other", method="PUT")

    assert (status, answer["error"]["data"]["reason"]) == (409, "sealed")
    assert (await wire.read(None)).text == "all"


def digest_of(content: bytes) -> str:
    return f"sha-256=:{b64encode(sha256(content).digest()).decode()}:"


@requirement("SR-9.1")
async def test_a_get_says_where_the_resource_and_the_producer_stand(wire: Wire) -> None:
    status, nothing = await upload(wire, uri=NOWHERE, method="GET", producer="p")
    assert (status, nothing["error"]["data"]) == (404, {"uri": NOWHERE})

    _, after = await upload(wire, "é".encode(), **numbered(0, epoch=3))
    here = {**after, "length": 2}

    assert await upload(wire, method="GET") == (200, here)
    assert await upload(wire, method="GET", producer="other") == (200, here)
    assert await upload(wire, method="GET", producer="p") == (200, {**here, "producer": {"epoch": 3, "seq": 1}})


@requirement("SR-3.4")
async def test_a_get_of_what_is_sealed_has_its_digest(wire: Wire) -> None:
    await upload(wire, b"all", seal="complete")

    assert (await upload(wire, method="GET"))[1]["digest"] == digest_of(b"all")


@requirement("SR-3.4")
@requirement("SR-9.2")
@pytest.mark.parametrize("last", [b"", b"!"], ids=["the seal alone", "with the last append"])
async def test_a_seal_with_the_digest_of_other_content_is_refused_and_seals_nothing(
    wire: Wire, last: bytes
) -> None:
    await upload(wire, b"content", **numbered(0))
    there, other = digest_of(b"content" + last), digest_of(b"c0ntent" + last)

    status, body = await upload(wire, last, seal="complete", digest=other, **numbered(1))

    data = {"reason": "digest", "uri": URI, "expected": other, "actual": there}
    assert (status, body["error"]["data"]) == (409, data)
    _, now = await upload(wire, method="GET", producer="p")
    assert (now["state"], now["revision"], now["producer"]["seq"]) == ("open", 1, 1)
    sealed = {"seal": "complete", "digest": there}
    assert (await upload(wire, last, **sealed, **numbered(1)))[0] == 200
    assert (await upload(wire, last, **sealed, **numbered(1)))[0] == 200, "a repeat"
    assert (await upload(wire, **sealed))[0] == 200, "a seal equal to the one that is there"
    assert (await upload(wire, seal="complete", digest=other))[0] == 409


@pytest.mark.parametrize(
    "query",
    [
        {"digest": digest_of(b"x")},
        {"digest": "sha-256=:x:", "seal": "complete"},
        {"digest": "md5=:x:", "seal": "complete"},
    ],
    ids=["without a seal", "no digest", "another algorithm"],
)
async def test_a_digest_that_means_nothing_is_refused(wire: Wire, query: dict[str, object]) -> None:
    status, body = await upload(wire, b"x", **query)

    assert (status, body["error"]["data"]["reason"]) == (400, "invalid_params")


async def test_a_document_is_sealed_with_its_digest_in_a_step_of_its_own(wire: Wire) -> None:
    await upload(wire, b'[{"op": "replace", "path": "", "value": {"a": 1}}]', NOWHERE, kind="json")
    query = {"seal": "complete", "digest": digest_of(b'{"a":1}')}

    status, body = await upload(wire, b'[{"op": "remove", "path": "/a"}]', NOWHERE, **query)

    assert (status, body["error"]["data"]["reason"]) == (400, "invalid_content")
    assert (await upload(wire, b"", NOWHERE, **query))[0] == 200


class SlowStore(MemoryStore):
    """Makes no append before it is told to go on."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.go_on = anyio.Event()
        self.begun = 0
        self._news = anyio.Event()

    async def append(self, uri: str, data: bytes, **rest: Any) -> Head:  # type: ignore[override]  # noqa: ANN401
        self.begun += 1
        self._news.set()
        await self.go_on.wait()
        return await super().append(uri, data, **rest)

    async def until_begun(self, count: int) -> None:
        with anyio.fail_after(5):
            while self.begun < count:
                self._news = anyio.Event()
                await self._news.wait()


@requirement("SR-12.3")
@pytest.mark.parametrize(
    ("limits", "limit"),
    [(Limits(uploads=3), "uploads"), (Limits(upload_bytes=30), "upload_bytes")],
    ids=["their number", "their bytes"],
)
async def test_where_the_store_is_slow_uploads_wait_and_those_without_room_are_to_come_again(
    limits: Limits, limit: str
) -> None:
    store = SlowStore(limits)
    async with serving(limits, store=store, upload=True) as wire:
        answers: list[int] = []

        async def append(seq: int) -> None:
            answers.append((await upload(wire, b"x" * 10, **numbered(0, producer=str(seq))))[0])

        async with anyio.create_task_group() as tasks:
            for seq in range(3):
                tasks.start_soon(append, seq)
            await store.until_begun(3)

            url = wire.url.replace("/mcp", "/upload?") + urlencode({"uri": URI})
            refused = await wire.http.post(url, content=b"y" * 10)
            assert (await upload(wire, method="GET"))[0] == 200, "to ask is free"
            assert answers == []
            store.go_on.set()

        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        value = getattr(limits, limit)
        assert refused.json()["error"]["data"] == {"reason": "limit", "limit": limit, "value": value}
        assert answers == [200] * 3
        assert (await wire.read(None)).text == "x" * 30
        assert (await upload(wire, b"y"))[0] == 200, "what is answered takes no room"


@requirement("SR-12.3")
async def test_an_upload_that_is_alone_has_room_however_little_is_allowed() -> None:
    async with serving(Limits(upload_bytes=5), upload=True) as wire:
        assert (await upload(wire, b"more than five"))[0] == 200


async def test_a_producer_that_is_refused_for_the_moment_comes_again_when_it_was_told_to() -> None:
    limits = Limits(uploads=1)
    store = SlowStore(limits)
    waits: list[float] = []
    async with serving(limits, store=store, upload=True) as wire, anyio.create_task_group() as tasks:
        tasks.start_soon(upload, wire, b"first")
        await store.until_begun(1)

        def on_fault(exc: ConnectionLost, wait_s: float) -> None:
            assert "over the limit uploads = 1" in str(exc)
            waits.append(wait_s)
            store.go_on.set()

        async with Producer(wire.url, URI, on_fault=on_fault) as producer:
            await producer.append(b" second")

        assert (await wire.read(None)).text == "first second"
    assert waits[0] >= 1
