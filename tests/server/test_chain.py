"""V3: from catch-up to live without a gap or a repeat, wherever in between a commit lands (prior art, bug 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from requirement import requirement

from streamres import Limits
from streamres.store import MemoryStore

from .reader import ChainReader
from .wire import URI, acknowledged, moved, serving

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from streamres.model import Entry, Position, Reading
    from streamres.store import Watch

    from .wire import Binding, Wire

MOMENTS = [
    "before the watch",
    "after the watch, before the look",
    "after the look, before the acknowledgement",
    "before a delta is read",
    "after a delta is read",
]


class Interleaved(MemoryStore):
    """Commits `text` once, at the named moment of somebody else's work."""

    moment = ""
    text = b"between|"

    def commit_at(self, moment: str) -> None:
        if moment == self.moment:
            self.moment = ""
            self._changed_by(self.text)

    def watch(self, uris: Iterable[str], *, list_changed: bool = False) -> AbstractContextManager[Watch]:
        self.commit_at("before the watch")
        return super().watch(uris, list_changed=list_changed)

    async def entry(self, uri: str) -> Entry:
        self.commit_at("after the watch, before the look")
        entry = await super().entry(uri)
        self.commit_at("after the look, before the acknowledgement")
        return entry

    async def read(
        self,
        uri: str,
        since: Position | None = None,
        *,
        max_bytes: int | None = None,
        tail_bytes: int | None = None,
        append_op: bool = True,
    ) -> Reading:
        self.commit_at("before a delta is read")
        reading = await super().read(uri, since, max_bytes=max_bytes, tail_bytes=tail_bytes, append_op=append_op)
        self.commit_at("after a delta is read")
        return reading

    def _changed_by(self, text: bytes) -> None:
        coroutine = self.append(URI, text)  # one that never waits: its first step is its last
        with pytest.raises(StopIteration):
            coroutine.send(None)


@requirement("V3")
@requirement("SR-6.3")
@requirement("SR-7.1")
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("behind", [True, False], ids=["behind", "at the head"])
async def test_a_commit_at_any_moment_of_the_beginning_is_sent_once(
    binding: Binding, moment: str, behind: bool
) -> None:
    store = Interleaved()
    async with serving(store=store) as wire:
        since = await wire.cursor()
        before = "before|" if behind else ""
        await wire.append(before)
        store.moment = moment

        async with wire.listen(binding, {URI: {"since": since, "deliver": "delta"}}) as frames:
            await frames.take()
            if moment in MOMENTS[3:] and not behind:
                await wire.append("first|")
                before = "first|"
            reader = ChainReader(binding, since)
            await reader.until(frames, before + "between|")
            await wire.append("after")
            await reader.until(frames, before + "between|after")

            wire.server.close()
            assert len(await frames.rest()) == 1, "something came twice"


@requirement("V3")
@requirement("SR-6.2")
@pytest.mark.parametrize("moment", MOMENTS)
async def test_cursors_never_go_back_and_reach_the_head(binding: Binding, moment: str) -> None:
    store = Interleaved()
    async with serving(store=store) as wire:
        since = await wire.cursor()
        await wire.append("before|")
        store.moment = moment

        async with wire.listen(binding, {URI: {"since": since}}) as frames:
            ack = acknowledged(binding, await frames.take())[URI]
            await wire.append("after")
            last = await wire.cursor()
            updates = [moved(binding, await frames.take())]
            while updates[-1]["cursor"] != last:
                updates.append(moved(binding, await frames.take()))

    revisions = [update["revision"] for update in updates]
    assert revisions == sorted(set(revisions))
    assert ack["revision"] <= revisions[-1]


@requirement("V3")
@requirement("SR-3.2")
@requirement("SR-6.3")
async def test_a_chain_beside_a_busy_producer_is_the_text_exactly(wire: Wire, binding: Binding) -> None:
    pieces = [f"{n} é😀\u2028\r\n" for n in range(600)]
    await wire.append(*pieces[:100])
    since = await wire.cursor()

    async with wire.listen(binding, {wire.uri: {"since": since, "deliver": "delta"}}) as frames:
        await frames.take()
        reader = ChainReader(binding, since)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader.until_sealed, frames)
            for n, piece in enumerate(pieces[100:]):
                await wire.append(piece)
                if n % 3 == 0:
                    await anyio.lowlevel.checkpoint()
            await wire.seal()

        assert (await frames.take())["result"]["resultType"] == "complete"

    assert reader.text == "".join(pieces[100:])
    assert reader.state == "complete"
    assert reader.revisions == sorted(set(reader.revisions))


@requirement("SR-6.3")
async def test_a_long_way_is_a_chain_of_bounded_deltas_and_only_the_last_is_sealed(binding: Binding) -> None:
    async with serving(Limits(notification_bytes=10)) as wire:
        since = await wire.cursor()
        await wire.append("é😀" * 20)
        await wire.seal()

        async with wire.listen(binding, {URI: {"since": since, "deliver": "delta"}}) as frames:
            await frames.take()
            reader = ChainReader(binding, since)
            await reader.until_sealed(frames)
            assert "result" in await frames.take()

    assert reader.text == "é😀" * 20
    assert max(reader.sizes) <= 10
    assert len(reader.sizes) >= 12


@requirement("SR-6.3")
@requirement("SR-2.4")
@pytest.mark.parametrize("cut", ["replaced", "compacted"])
async def test_where_the_chain_cannot_be_kept_the_cursor_comes_alone_and_a_chain_goes_on_from_there(
    wire: Wire, binding: Binding, cut: str
) -> None:
    since = await wire.cursor()
    await wire.append("a", "b", "c")
    if cut == "compacted":
        await wire.server.store.compact(wire.uri, 3)

    async with wire.listen(binding, {wire.uri: {"since": since, "deliver": "delta"}}) as frames:
        await frames.take()
        if cut == "replaced":
            ChainReader(binding, since).take(await frames.take())
            await wire.server.store.replace(wire.uri, b"new")
        alone = moved(binding, await frames.take())
        await wire.append("d")
        reader = ChainReader(binding, alone["cursor"])
        reader.take(await frames.take())

    assert set(alone) == {"cursor", "revision", "state"}
    assert reader.text == "d"


@requirement("SR-6.1")
async def test_any_notification_alone_leads_a_reader_to_the_whole(wire: Wire, binding: Binding) -> None:
    since = await wire.cursor()
    async with wire.listen(binding, {wire.uri: {}}) as frames:
        await frames.take()
        for text in ("a", "b", "c"):
            await wire.append(text)
            update = moved(binding, await frames.take())

    answer = await wire.read(binding, since=since)
    assert answer.stream(binding)["cursor"] == update["cursor"]
    assert answer.stream(binding)["delta"]["text"] == "abc"
