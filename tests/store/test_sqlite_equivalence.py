"""Whatever is done to it, the store in a file says what the store in memory says: reads, heads, lists, refusals.

Pieces are of a few bytes here: short histories cross as many of their borders as megabytes do.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model.json_oracle import QUICKLY
from requirement import requirement

from streamres.errors import StreamresError
from streamres.limits import Limits
from streamres.model import KINDS, Description, content
from streamres.store.sqlite import book, pieces, verify

from .both import Both
from .history import History
from .scene import IN_MEMORY, URI

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres.model import Kind

EXAMPLES = 20
"""Of each kind; a history has some twenty steps, and each is looked at from every position that there ever was."""

PIECE_BYTES = 16


@pytest.fixture(autouse=True, scope="module")
def small_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (content, book, pieces):
            patch.setattr(module, "BLOCK_BYTES", PIECE_BYTES)
        patch.setattr(book, "_SMALL_BYTES", PIECE_BYTES // 2)
        yield


async def run(kind: Kind, data: st.DataObject, folder: Path) -> None:
    limits = Limits(
        history_bytes=data.draw(st.sampled_from([None, None, 30]), label="history_bytes"),
        json_bytes=data.draw(st.sampled_from([4_000_000, 100]), label="json_bytes"),
        producers=2,
        resources=4,
    )
    both = Both(folder, kind, limits)
    await both.open()
    async with both.stack:
        history = History(both, data)
        what = Description(uri=URI, name="log", kind=kind)
        first = data.draw(st.booleans(), label="first content")
        given_first = await history.content(whole=True) if first else b""
        if isinstance(await both.do(lambda store: store.create(what, given_first)), StreamresError):
            return
        await both.look(data)
        for _ in range(data.draw(st.integers(0, 20), label="steps")):
            await history.step()
            await both.look(data)
        await both.reopen()
        await both.look(data)
    assert list(verify(both.path)) == []


@requirement("S1")
@requirement("S2")
@pytest.mark.parametrize("kind", KINDS)
def test_the_file_says_what_memory_says(kind: Kind) -> None:
    @given(data=st.data())
    @settings(QUICKLY, max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    def same(data: st.DataObject) -> None:
        with TemporaryDirectory(prefix="streamres-", dir=IN_MEMORY) as folder:
            asyncio.run(run(kind, data, Path(folder)))

    same()


@requirement("SR-3.5")
async def test_the_seal_of_a_document_outlives_the_patches_before_it(tmp_path: Path) -> None:
    """It adds no bytes, and was kept in one piece with patches that are not wanted any more."""
    both = Both(tmp_path, "json", Limits())
    await both.open()
    async with both.stack:
        await both.do(lambda store: store.create(Description(uri=URI, name="plan", kind="json")))
        patch = b'[{"op":"add","path":"","value":1}]'
        await both.do_together(
            [lambda store: store.append(URI, patch), lambda store: store.append(URI, b"", seal="complete")]
        )
        heads = [(await store.entry(URI)).head.position for store in (both.memory, both.file)]
        await both.do(lambda store: store.compact(URI, 1))
        await both.do(lambda store: store.append(URI, b"", seal="complete"))

        await both.read((heads[0], heads[1]))
        await both.reopen()
        await both.read((heads[0], heads[1]))
    assert list(verify(both.path)) == []
