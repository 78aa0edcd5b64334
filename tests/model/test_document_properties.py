"""Random patches lead where the oracle's do, within the limits, and the bounds kept of a document hold."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.errors import DeltaError, LimitExceeded
from streamres.limits import Limits
from streamres.model.document import Document
from streamres.model.json_value import encode_json, parse_json
from streamres.model.patch import encode_patch, parse_patch

from .json_log import commit, depth_in, log_of, observed, op, text_of
from .json_oracle import QUICKLY, Operation, Refused, documents, patched, patches

Json = Any


@requirement("SR-2.3")
@requirement("SR-2.5.a")
@requirement("M3")
@settings(QUICKLY, max_examples=150)
@given(data=st.data(), limits=st.sampled_from([(10_000, 128)] * 3 + [(60, 128), (10_000, 4), (60, 4), (25, 2)]))
def test_a_history_of_patches_is_that_of_the_oracle_or_changes_nothing(
    data: st.DataObject, limits: tuple[int, int]
) -> None:
    """Small limits take the ways that measure, for which a patch may also be refused for its size."""
    size, depth = limits
    before = data.draw(documents)
    try:
        log = log_of(before, limits=Limits(json_bytes=size, json_depth=depth))
    except LimitExceeded:
        return
    for _ in range(data.draw(st.integers(1, 6))):
        patch = data.draw(patches(before))
        seen = observed(log)
        expected = outcome(before, patch)
        try:
            commit(log, *patch)
        except DeltaError:
            assert expected is REFUSAL
        except LimitExceeded:
            assert expected is REFUSAL or passes(before, patch, size, depth)
        else:
            assert expected is not REFUSAL
            before = expected
            assert text_of(log) == encode_json(before).decode()
            assert len(encode_json(before)) <= size
            assert depth_in(before) <= depth
            continue
        assert observed(log) == seen


REFUSAL = object()


def outcome(document: Json, patch: list[Operation]) -> Json:
    try:
        return patched(document, patch)
    except Refused:
        return REFUSAL


def passes(document: Json, patch: list[Operation], size: int, depth: int) -> bool:
    """Whether a patch passes a limit at its end or on the way, or by what it writes in all."""
    written = 0
    for operation in patch:
        value = operation.get("value")
        written += len(encode_json(value))
        if operation["op"] == "copy":
            before = patched(document, [op("copy", "", source=operation["from"])])
            written += len(encode_json(before))
        levels = operation["path"].count("/")
        if levels + depth_in(value) > depth or operation.get("from", "").count("/") > depth:
            return True
        document = patched(document, [operation])
        if depth_in(document) > depth:
            return True
    return written > size or len(encode_json(document)) > size


@requirement("SR-2.3")
@settings(QUICKLY, max_examples=100)
@given(data=st.data())
def test_sound_patches_are_applied_with_bounds_that_hold(data: st.DataObject) -> None:
    value = data.draw(documents)
    limits = Limits()
    document = Document(limits, parse_json(encode_json(value), max_depth=128))
    for _ in range(data.draw(st.integers(1, 5))):
        patch = data.draw(patches(value, sound=True))
        value = patched(value, patch)

        operations = parse_patch(json.dumps(patch).encode(), limits)
        document.apply(operations, encode_patch(operations))

        assert document._size >= len(encode_json(value))
        assert document._depth >= depth_in(value)
        if data.draw(st.booleans()):
            assert document.encoded() == encode_json(value)
