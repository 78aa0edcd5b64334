"""Blobs in every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from streamres.errors import DeltaError
from streamres.model import Description

from .scene import URI, described

if TYPE_CHECKING:
    from .scene import OpenStore

BLOB = Description(uri=URI, name="image", kind="blob", mime_type="image/png")


@requirement("SR-2.2")
async def test_a_blob_is_kept_byte_for_byte_and_described_as_one(open_store: OpenStore) -> None:
    store = await open_store()
    await store.create(BLOB)
    await store.append(URI, b"\x89PNG\xff")
    head = await store.append(URI, b"\xe2", seal="complete")

    reading = await store.read(URI)

    assert b"".join(reading.step.slices()) == b"\x89PNG\xff\xe2"
    assert (await store.entry(URI)).description == BLOB
    assert head.position.length == 6


@requirement("SR-2.2")
@requirement("SR-2.4")
async def test_a_replaced_blob_stays_a_blob(open_store: OpenStore) -> None:
    store = await open_store()
    await store.create(BLOB)

    await store.replace(URI, b"\xff")
    await store.append(URI, b"\xfe")

    assert b"".join((await store.read(URI)).step.slices()) == b"\xff\xfe"


@requirement("M3")
async def test_a_resource_that_an_append_makes_is_of_the_kind_it_says(open_store: OpenStore) -> None:
    store = await open_store()
    await store.append(URI, b"\xff", create=BLOB)
    await store.append("a:text", b"a", create=described("a:text"))

    assert [entry.description.kind for entry in await store.list(limit=9)] == ["blob", "text"]


@requirement("M3")
async def test_an_append_for_a_resource_of_another_kind_is_refused(open_store: OpenStore) -> None:
    store = await open_store()
    await store.create(BLOB)

    with pytest.raises(DeltaError, match="its kind is blob, not text"):
        await store.append(URI, b"a", create=described(URI))

    assert (await store.entry(URI)).head.position.length == 0
