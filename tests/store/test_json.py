"""Documents in every store."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from requirement import requirement

from streamres.errors import (
    DeltaError,
    LimitExceeded,
    ProducerConflict,
    ProducerGap,
    ResourceExists,
    ResourceNotFound,
    ResourceSealed,
    RevisionConflict,
    StreamresError,
)
from streamres.limits import Limits
from streamres.model import Description, Patch, Position

from .scene import NOWHERE, URI, content, described, head_of, number, uris

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from streamres.model import Head
    from streamres.store import Store

    from .scene import OpenStore

    Write = Callable[[Store], Awaitable[Head]]

DOCUMENT = Description(uri=URI, name="state", kind="json", mime_type="application/json")


def patch(*operations: Any) -> bytes:  # noqa: ANN401
    return json.dumps(operations).encode()


ADD = patch({"op": "add", "path": "/a", "value": 1})


@pytest.fixture
async def store(open_store: OpenStore) -> Store:
    """A store with one document, `{}`."""
    store = await open_store()
    await store.create(DOCUMENT, b"{}")
    return store


async def delta(store: Store, since: Position, *, append_op: bool = True) -> Any:  # noqa: ANN401
    step = (await store.read(URI, since, append_op=append_op)).step
    assert isinstance(step, Patch)
    return json.loads(step.operations)


@requirement("SR-2.3")
async def test_a_document_is_null_or_what_it_was_made_with(open_store: OpenStore) -> None:
    store = await open_store()
    null = Description(uri=NOWHERE, name="null", kind="json")

    await store.create(null)
    head = await store.create(DOCUMENT, b' {"b": 2, "a": 1.0, "n": 36893488147419103232} ')

    assert await content(store, NOWHERE) == b"null"
    assert await content(store) == b'{"b":2,"a":1.0,"n":36893488147419103232}'
    assert (await store.entry(URI)).description == DOCUMENT
    assert (head.position.revision, head.state) == (0, "open")


@requirement("SR-2.3")
@requirement("S2")
async def test_each_patch_is_the_next_revision_and_is_given_since(store: Store) -> None:
    heads = [await head_of(store)]
    for count in range(4):
        heads.append(await store.append(URI, patch({"op": "add", "path": f"/{count}", "value": count})))
        assert heads[-1] == await head_of(store)

    assert [head.position.revision for head in heads] == [0, 1, 2, 3, 4]
    assert await content(store) == b'{"0":0,"1":1,"2":2,"3":3}'
    for first, head in enumerate(heads):
        added = [operation["path"] for operation in await delta(store, head.position)]
        assert added == [f"/{count}" for count in range(first, 4)]


@requirement("SR-2.5")
async def test_a_string_that_grew_is_given_as_it_was_asked_for(store: Store) -> None:
    await store.append(URI, patch({"op": "add", "path": "/text", "value": "a"}))
    before = (await head_of(store)).position
    for letter in "bc":
        await store.append(URI, patch({"op": "append", "path": "/text", "value": letter}))

    assert await delta(store, before) == [{"op": "append", "path": "/text", "value": "bc"}]
    plain = await delta(store, before, append_op=False)
    assert plain == [{"op": "replace", "path": "/text", "value": "abc"}]


@requirement("SR-5.7.c")
async def test_a_bounded_read_stops_between_patches(store: Store) -> None:
    start = (await head_of(store)).position
    first = await store.append(URI, ADD)
    await store.append(URI, ADD)

    reading = await store.read(URI, start, max_bytes=1)

    assert isinstance(reading.step, Patch)
    assert (reading.step.stop, reading.more) == (first.position, True)


@requirement("SR-3.4.b")
@requirement("SR-9.2")
async def test_a_patch_and_a_seal_are_one_step_and_prove_the_document(store: Store) -> None:
    head = await store.append(URI, patch({"op": "add", "path": "/é", "value": 1.0}), seal="complete")

    digest = b64encode(sha256('{"é":1}'.encode()).digest()).decode()
    assert (head.position.revision, head.state, head.digest) == (1, "complete", f"sha-256=:{digest}:")
    assert await store.append(URI, b"", seal="complete") == head
    with pytest.raises(ResourceSealed):
        await store.append(URI, ADD)


@requirement("SR-3.4.c")
async def test_a_document_outside_i_json_is_sealed_without_a_digest(store: Store) -> None:
    head = await store.append(URI, patch({"op": "add", "path": "/n", "value": 2**53}), seal="aborted")

    assert (head.state, head.digest) == ("aborted", None)


@requirement("SR-9.1")
async def test_a_repeated_patch_is_acknowledged_with_the_first_head_and_made_once(store: Store) -> None:
    push = patch({"op": "add", "path": "/items", "value": []})
    item = patch({"op": "add", "path": "/items/-", "value": "x"})
    await store.append(URI, push, number=number(0))
    first = await store.append(URI, item, number=number(1))
    await store.append(URI, item, number=number(2))

    with store.watch([URI]) as watch:
        assert await store.append(URI, item, number=number(1)) == first
        assert not watch.marked

    assert await content(store) == b'{"items":["x","x"]}'


@requirement("SR-9.1")
async def test_a_repeat_is_acknowledged_even_where_its_patch_would_not_apply_again(store: Store) -> None:
    await store.append(URI, ADD, number=number(0))
    first = await store.append(URI, patch({"op": "remove", "path": "/a"}), number=number(1))

    assert await store.append(URI, patch({"op": "remove", "path": "/a"}), number=number(1)) == first


@requirement("SR-2.4")
async def test_a_replaced_document_begins_a_new_epoch_and_stays_a_document(store: Store) -> None:
    first = await store.append(URI, ADD, number=number(0))

    head = await store.replace(URI, b"[]")
    await store.append(URI, patch({"op": "add", "path": "/-", "value": 1}), number=number(1))

    assert head.position.revision == 0
    assert head.position.epoch != first.position.epoch
    assert (await store.read(URI, first.position)).reset == "epoch"
    assert await content(store) == b"[1]"


@requirement("SR-3.5")
async def test_a_compacted_document_is_whole_and_its_patches_go_on(store: Store) -> None:
    start = await head_of(store)
    heads = [await store.append(URI, patch({"op": "add", "path": f"/{n}", "value": n})) for n in range(4)]

    await store.compact(URI, 2)
    assert [operation["path"] for operation in await delta(store, heads[1].position)] == ["/2", "/3"]
    await store.compact(URI, 3)

    assert (await store.read(URI, start.position)).reset == "expired"
    assert (await store.read(URI, heads[1].position)).reset == "expired"
    assert [operation["path"] for operation in await delta(store, heads[2].position)] == ["/3"]
    assert await delta(store, heads[3].position) == []
    assert await content(store) == b'{"0":0,"1":1,"2":2,"3":3}'


async def test_an_append_makes_a_document_that_is_null_until_then(open_store: OpenStore) -> None:
    store = await open_store()

    await store.append(URI, patch({"op": "add", "path": "", "value": {"a": 1}}), create=DOCUMENT)

    assert (await store.entry(URI)).description == DOCUMENT
    assert await content(store) == b'{"a":1}'


WRITES: dict[str, tuple[type[StreamresError], Write]] = {
    "not JSON": (DeltaError, lambda s: s.append(URI, b"{")),
    "not a patch": (DeltaError, lambda s: s.append(URI, b"{}")),
    "text": (DeltaError, lambda s: s.append(URI, b"more text")),
    "an operation of its own": (
        DeltaError,
        lambda s: s.append(URI, patch({"op": "merge", "path": "", "value": 1})),
    ),
    "a patch whose last operation fails": (
        DeltaError,
        lambda s: s.append(URI, patch({"op": "remove", "path": "/kept"}, {"op": "remove", "path": "/none"})),
    ),
    "a patch that fails, and a seal": (
        DeltaError,
        lambda s: s.append(URI, patch({"op": "remove", "path": "/none"}), seal="complete"),
    ),
    "a numbered patch that fails": (
        DeltaError,
        lambda s: s.append(URI, patch({"op": "remove", "path": "/none"}), number=number(1)),
    ),
    "too large a document": (
        LimitExceeded,
        lambda s: s.append(URI, patch({"op": "add", "path": "/x", "value": "x" * 200})),
    ),
    "too deep a document": (
        LimitExceeded,
        lambda s: s.append(URI, patch({"op": "add", "path": "/x", "value": [[[]]]})),
    ),
    "too many operations": (LimitExceeded, lambda s: s.append(URI, patch(*[{"op": "test", "path": ""}] * 4))),
    "a repeat with another patch": (ProducerConflict, lambda s: s.append(URI, ADD, number=number(0))),
    "a repeat with other bytes for the same patch": (
        ProducerConflict,
        lambda s: s.append(URI, b" " + patch({"op": "add", "path": "/kept", "value": 0}), number=number(0)),
    ),
    "a gap": (ProducerGap, lambda s: s.append(URI, ADD, number=number(2))),
    "another revision": (RevisionConflict, lambda s: s.append(URI, ADD, expected_revision=0)),
    "replaced by nothing": (DeltaError, lambda s: s.replace(URI, b"")),
    "replaced by what is not JSON": (DeltaError, lambda s: s.replace(URI, b"text")),
    "replaced by too large a document": (LimitExceeded, lambda s: s.replace(URI, b'"' + b"x" * 200 + b'"')),
    "replaced by too deep a document": (LimitExceeded, lambda s: s.replace(URI, b"[[[[]]]]")),
    "replaced by a name twice": (DeltaError, lambda s: s.replace(URI, b'{"a":1,"a":2}')),
    "made again": (ResourceExists, lambda s: s.create(DOCUMENT, b"{}")),
    "another made of what is not JSON": (DeltaError, lambda s: s.create(described_json(NOWHERE), b"{")),
    "another made by a patch that fails": (
        DeltaError,
        lambda s: s.append(NOWHERE, ADD, create=described_json(NOWHERE)),
    ),
}


def described_json(uri: str) -> Description:
    return Description(uri=uri, name="state", kind="json")


@requirement("M3")
@requirement("SR-2.3.b")
@requirement("SR-12.3")
@pytest.mark.parametrize(("error", "write"), WRITES.values(), ids=WRITES)
async def test_a_refused_write_changes_nothing_and_tells_nobody(
    open_store: OpenStore, error: type[StreamresError], write: Write
) -> None:
    store = await open_store(Limits(json_bytes=100, json_depth=3, patch_ops=3))
    start = await store.create(DOCUMENT, b"{}")
    await store.append(URI, patch({"op": "add", "path": "/kept", "value": 0}), number=number(0))
    before = await observed(store, start.position)

    with store.watch([URI, NOWHERE], list_changed=True) as watch:
        with pytest.raises(error):
            await write(store)
        assert not watch.marked

    assert await observed(store, start.position) == before
    await store.append(URI, ADD, number=number(1))
    assert await content(store) == b'{"kept":0,"a":1}'
    with pytest.raises(ResourceNotFound):
        await store.entry(NOWHERE)


async def observed(store: Store, since: Position) -> list[object]:
    """What anyone can learn of the store and of the document, whose position `since` is known."""
    reading = await store.read(URI, since)
    assert isinstance(reading.step, Patch)
    seen: list[object] = [await content(store), reading.step.operations, reading.step.stop, reading.state]
    return [*seen, await uris(store), await store.entry(URI)]


@requirement("M3")
async def test_documents_and_texts_live_side_by_side(open_store: OpenStore) -> None:
    store = await open_store()
    await store.create(DOCUMENT, b"[]")
    await store.create(described(NOWHERE))

    await store.append(NOWHERE, b"[]")
    await store.append(URI, patch({"op": "add", "path": "/-", "value": "text"}))

    assert (await content(store, NOWHERE), await content(store)) == (b"[]", b'["text"]')
    assert [entry.description.kind for entry in await store.list(limit=9)] == ["json", "text"]
