"""A cursor that cannot be served: one round trip to a snapshot that says why, never silence, never an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres.model import Position, decode_cursor, encode_cursor

if TYPE_CHECKING:
    from .wire import Binding, Wire


def forged(uri: str, token: str, *, revisions: int = 0, length: int = 0, epoch: int = 0) -> str:
    """A well formed cursor beside the given one; no secret is needed (SR-4.4)."""
    at = decode_cursor(token, uri)
    return encode_cursor(Position(at.epoch ^ epoch, at.revision + revisions, at.length + length), uri)


async def unservable(wire: Wire, reset: str) -> str:
    """Gives a cursor that the server answers with `reset`; the content is `abc` then."""
    await wire.append("a")
    old = await wire.cursor()
    match reset:
        case "expired":
            await wire.append("b", "c")
            await wire.server.store.compact(wire.uri, 3)
        case "epoch":
            await wire.server.store.replace(wire.uri, b"abc")
        case "ahead":
            await wire.append("bc")
            old = forged(wire.uri, await wire.cursor(), revisions=5, length=50)
    return old


RESETS = ["expired", "epoch", "ahead"]


@requirement("SR-5.5")
@pytest.mark.parametrize("reset", RESETS)
async def test_an_unservable_cursor_is_answered_by_a_snapshot_with_the_reason(
    wire: Wire, binding: Binding, reset: str
) -> None:
    since = await unservable(wire, reset)

    answer = await wire.read(binding, since=since)

    assert (answer.status, answer.text) == (200, "abc")
    stream = answer.stream(binding)
    assert (stream["reset"], stream["state"], "delta" in stream) == (reset, "open", False)
    await wire.append("d")
    onward = (await wire.read(binding, since=stream["cursor"])).stream(binding)
    assert (onward["delta"]["text"], "reset" in onward) == ("d", False)


@requirement("SR-5.5")
@pytest.mark.parametrize("reset", RESETS)
async def test_a_reset_is_paged_to_the_whole_and_not_reset_again(wire: Wire, binding: Binding, reset: str) -> None:
    since = await unservable(wire, reset)

    stream = (answer := await wire.read(binding, since=since, maxBytes=1)).stream(binding)
    assert (answer.text, stream["reset"], stream["more"]) == ("a", reset, True)
    for text in ("b", "c"):
        stream = (await wire.read(binding, since=stream["cursor"], maxBytes=1)).stream(binding)
        assert (stream["delta"]["text"], "reset" in stream) == (text, False)

    assert "more" not in stream
    assert stream["cursor"] == await wire.cursor()


@requirement("SR-5.4")
@requirement("SR-5.5")
@pytest.mark.parametrize("reset", RESETS)
async def test_a_reset_does_not_wait(wire: Wire, binding: Binding, reset: str) -> None:
    since = await unservable(wire, reset)

    answer = await wire.read(binding, since=since, waitMs=30_000)

    assert answer.stream(binding)["reset"] == reset


@requirement("SR-3.2")
@requirement("SR-5.5")
async def test_a_position_that_never_was_is_no_place_for_a_delta(wire: Wire, binding: Binding) -> None:
    await wire.append("abc", "defg")
    head = await wire.cursor()

    for off in ({"length": 1}, {"length": -7}, {"revisions": -1}, {"revisions": -2}, {"epoch": 1}):
        stream = (await wire.read(binding, since=forged(wire.uri, head, **off))).stream(binding)

        assert (stream["reset"], "delta" in stream) == ("epoch", False), off


@requirement("SR-12.2")
@requirement("SR-5.5")
async def test_a_cursor_with_huge_numbers_costs_nothing(wire: Wire, binding: Binding) -> None:
    huge = encode_cursor(
        Position(decode_cursor(await wire.cursor(), wire.uri).epoch, 2**63 - 1, 2**63 - 1), wire.uri
    )

    answer = await wire.read(binding, since=huge)

    assert answer.stream(binding)["reset"] == "ahead"


@requirement("SR-4.5")
async def test_the_heads_cursor_is_servable_however_much_is_compacted(wire: Wire, binding: Binding) -> None:
    await wire.append("a", "b")
    head = await wire.cursor()
    await wire.server.store.compact(wire.uri, 10**6)

    stream = (await wire.read(binding, since=head)).stream(binding)
    await wire.append("c")
    next_stream = (await wire.read(binding, since=head)).stream(binding)

    assert (stream["delta"]["text"], next_stream["delta"]["text"]) == ("", "c")


@requirement("SR-2.4")
async def test_replaced_by_the_same_text_it_is_a_new_epoch(wire: Wire, binding: Binding) -> None:
    await wire.append("same")
    since = await wire.cursor()
    await wire.server.store.replace(wire.uri, b"same")

    answer = await wire.read(binding, since=since)

    assert (answer.text, answer.stream(binding)["reset"]) == ("same", "epoch")
    assert answer.stream(binding)["cursor"] != since
