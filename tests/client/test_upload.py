"""Appends over HTTP: numbered, demanding, sealing, refused; a refusal changes nothing (section 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement
from server.wire import NOWHERE, URI, serving

from .uploading import numbered, upload

if TYPE_CHECKING:
    from server.wire import Wire


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
