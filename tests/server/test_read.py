"""`resources/read` over the wire: snapshots, deltas, pages, tails, and what is refused."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from .wire import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamres.model import State

    from .wire import Answer, Binding, Wire

TEXT = "first\nsecond é😀\u2028 \x00\x1b[1m\r\nthird"


@requirement("SR-5.1")
async def test_a_read_without_since_is_a_snapshot_that_says_where_it_stands(wire: Wire, binding: Binding) -> None:
    await wire.append("one\n", TEXT)

    answer = await wire.read(binding)

    assert answer.result["contents"] == [{"uri": wire.uri, "mimeType": "text/plain", "text": "one\n" + TEXT}]
    stream = answer.stream(binding)
    assert isinstance(stream.pop("cursor"), str)
    assert stream == {"revision": 2, "state": "open"}


@requirement("SR-5.2")
async def test_since_is_answered_by_the_delta_from_there_and_no_contents(wire: Wire, binding: Binding) -> None:
    await wire.append("one\n")
    since = await wire.cursor()
    await wire.append(TEXT, "last")

    answer = await wire.read(binding, since=since)

    assert answer.result["contents"] == []
    stream = answer.stream(binding)
    assert stream["delta"] == {"from": since, "to": stream["cursor"], "kind": "text", "text": TEXT + "last"}
    assert (stream["revision"], stream["state"]) == (3, "open")
    assert set(stream) == {"cursor", "revision", "state", "delta"}


@requirement("SR-5.3")
@pytest.mark.parametrize("state", ["open", "complete", "aborted"])
async def test_since_the_head_is_an_empty_delta_and_only_the_state_says_ended(
    wire: Wire, binding: Binding, state: State
) -> None:
    await wire.append("all")
    if state != "open":
        await wire.seal(state)
    head = (await wire.read(binding)).stream(binding)["cursor"]

    stream = (await wire.read(binding, since=head)).stream(binding)

    assert stream["delta"] == {"from": head, "to": head, "kind": "text", "text": ""}
    assert (stream["cursor"], stream["state"]) == (head, state)


@requirement("SR-3.4")
async def test_a_sealed_resource_carries_the_digest_of_the_whole_in_snapshot_and_delta(
    wire: Wire, binding: Binding
) -> None:
    start = await wire.cursor()
    await wire.append("a", TEXT)
    assert "digest" not in (await wire.read(binding)).stream(binding)

    await wire.seal()

    digest = f"sha-256=:{b64encode(sha256(('a' + TEXT).encode()).digest()).decode()}:"
    assert (await wire.read(binding)).stream(binding)["digest"] == digest
    assert (await wire.read(binding, since=start)).stream(binding)["digest"] == digest


@requirement("SR-5.7")
@pytest.mark.parametrize("max_bytes", [1, 3, 7])
async def test_pages_are_bounded_cut_no_code_point_and_are_the_whole_together(
    wire: Wire, binding: Binding, max_bytes: int
) -> None:
    await wire.append("añ😀", "日本", "\nend")
    pages: list[str] = []

    answer = await wire.read(binding, maxBytes=max_bytes)
    pages.append(answer.text)
    while (stream := answer.stream(binding)).get("more"):
        assert "digest" not in stream
        answer = await wire.read(binding, since=stream["cursor"], maxBytes=max_bytes)
        pages.append(answer.stream(binding)["delta"]["text"])

    assert "".join(pages) == "añ😀日本\nend"
    assert all(len(page.encode()) <= max(max_bytes, 4) and page for page in pages)
    assert stream["cursor"] == await wire.cursor()


@requirement("SR-5.11")
@requirement("SR-5.7")
async def test_a_page_before_the_seal_is_still_open(wire: Wire, binding: Binding) -> None:
    await wire.seal(text="abcdef")

    page = (await wire.read(binding, maxBytes=3)).stream(binding)
    last = (await wire.read(binding, since=page["cursor"], maxBytes=3)).stream(binding)

    assert (page["state"], page["more"], "digest" in page) == ("open", True, False)
    assert (last["state"], "more" in last, "digest" in last) == ("complete", False, True)


@requirement("SR-5.8")
@pytest.mark.parametrize(
    ("tail_bytes", "start"),
    [(1_000, 0), (12, 0), (11, 7), (6, 7), (5, 7), (4, 8), (0, 12)],
    ids=["more than all", "all", "in the first line", "its end", "the last line", "in the last line", "nothing"],
)
async def test_a_tail_begins_at_a_line_start_in_reach_and_says_its_byte_offset(
    wire: Wire, binding: Binding, tail_bytes: int, start: int
) -> None:
    await wire.append("fürst\n", "12345")  # 7 + 5 bytes

    answer = await wire.read(binding, tailBytes=tail_bytes)

    assert answer.stream(binding).get("start", 0) == start
    assert answer.text.encode() == "fürst\n12345".encode()[start:]
    assert answer.stream(binding)["cursor"] == await wire.cursor()


@requirement("SR-5.8")
async def test_a_tail_inside_a_long_line_cuts_no_code_point(wire: Wire, binding: Binding) -> None:
    await wire.append("ééééé")

    answer = await wire.read(binding, tailBytes=3)

    assert (answer.text, answer.stream(binding)["start"]) == ("éé", 6)


@requirement("SR-5.9")
async def test_neither_a_delta_nor_an_open_resource_may_be_cached(wire: Wire, binding: Binding) -> None:
    since = await wire.cursor()
    await wire.append("x")

    for answer in [await wire.read(binding), await wire.read(binding, since=since), await wire.read(None)]:
        assert (answer.result["ttlMs"], answer.result["cacheScope"]) == (0, "private")


@requirement("SR-5.6")
@requirement("SR-4.3")
@requirement("SR-12.2")
@pytest.mark.parametrize(
    "mangled",
    [
        lambda token: "",
        lambda token: "no cursor",
        lambda token: token[:-1],
        lambda token: token + "=",
        lambda token: token + "A" * 100_000,
        lambda token: "é" + token,
        lambda token: token.swapcase(),
        lambda token: " " + token,
    ],
    ids=["empty", "words", "cut", "padded", "very long", "not ASCII", "other letters", "with a space"],
)
async def test_a_malformed_cursor_is_refused_with_its_reason(
    wire: Wire, binding: Binding, mangled: Callable[[str], str]
) -> None:
    token = await wire.cursor()

    answer = await wire.read(binding, since=mangled(token))

    assert answer.refusal == (400, -32602, {"reason": "invalid_cursor", "uri": wire.uri})


@requirement("SR-4.3")
@requirement("SR-5.6")
async def test_a_cursor_of_another_resource_is_malformed_here(wire: Wire, binding: Binding) -> None:
    other = wire.uri + "/other"
    await wire.server.create(other)
    foreign = await wire.cursor(other)

    answer = await wire.read(binding, since=foreign)

    assert answer.refusal == (400, -32602, {"reason": "invalid_cursor", "uri": wire.uri})


@requirement("SR-5.6")
async def test_an_unknown_uri_is_refused_with_the_uri(wire: Wire, binding: Binding) -> None:
    since = await wire.cursor()
    answers: list[Answer] = [
        await wire.read(binding, NOWHERE),
        await wire.read(binding, NOWHERE, since=since),
        await wire.read(None, NOWHERE),
    ]

    assert [answer.refusal for answer in answers] == [(400, -32602, {"uri": NOWHERE})] * 3


MALFORMED: dict[str, dict[str, object]] = {
    "since a number": {"since": 7},
    "since an object": {"since": {}},
    "maxBytes zero": {"maxBytes": 0},
    "maxBytes negative": {"maxBytes": -1},
    "maxBytes a fraction": {"maxBytes": 1.5},
    "maxBytes true": {"maxBytes": True},
    "maxBytes past 64 bits": {"maxBytes": 10**30},
    "waitMs negative": {"waitMs": -1},
    "waitMs a string": {"waitMs": "10"},
    "tailBytes negative": {"tailBytes": -5},
    "tailBytes and since": {"tailBytes": 5, "since": "x"},
}


@pytest.mark.parametrize("members", MALFORMED.values(), ids=MALFORMED)
async def test_a_member_of_the_wrong_kind_is_refused(
    wire: Wire, binding: Binding, members: dict[str, object]
) -> None:
    answer = await wire.read(binding, **members)

    assert (answer.status, answer.error["code"]) == (400, -32602)
    assert (await wire.read(binding)).status == 200
