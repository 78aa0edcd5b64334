"""Hostile JSON costs little: its depth has a limit, and what is refused takes no more than what is not."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from requirement import requirement

from streamres.errors import DeltaError, LimitExceeded
from streamres.model.json_value import depth_of

from .json_text import DEPTH, parsed


@requirement("SR-12.3")
@pytest.mark.parametrize("bracket", ["[]", '{"a":}'], ids=["arrays", "objects"])
@pytest.mark.parametrize("depth", [DEPTH, DEPTH + 1, 900, 1_100, 100_000])
def test_the_depth_has_a_limit_however_deep_it_goes(bracket: str, depth: int) -> None:
    opening, closing = bracket[:-1], bracket[-1]
    data = opening * depth + "1" + closing * depth

    if depth <= DEPTH:
        assert depth_of(parsed(data)) == depth
        return
    with pytest.raises(LimitExceeded) as caught:
        parsed(data)
    assert (caught.value.limit, caught.value.value) == ("json_depth", DEPTH)


@requirement("SR-12.3")
@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":['], ids=["arrays", "objects", "both"])
def test_a_hundred_thousand_brackets_that_never_close_are_refused(opening: str) -> None:
    with pytest.raises((DeltaError, LimitExceeded)):
        parsed(opening * 100_000)


@requirement("SR-12.3")
def test_brackets_in_strings_and_side_by_side_are_no_depth() -> None:
    assert depth_of(parsed('["' + "[{" * 1_000 + '"]')) == 1
    assert depth_of(parsed("[" + ",".join(["[{}]"] * 1_000) + "]")) == 3
    assert [depth_of(value) for value in (1, "a", None, [], {}, [[]], {"a": [{}]})] == [0, 0, 0, 1, 1, 2, 3]


@requirement("SR-12.3")
def test_a_name_twice_at_the_end_of_a_large_object_is_found_as_fast_as_the_object_is_read() -> None:
    names = ",".join(f'"{number}":0' for number in range(100_000))
    begin = time.process_time()

    with pytest.raises(DeltaError) as caught:
        parsed(f'{{{names},"99999":0}}')

    assert "'99999'" in str(caught.value)
    assert time.process_time() - begin < 2


@requirement("SR-12.3")
def test_a_refusal_is_short_however_long_what_it_is_about() -> None:
    long = "x" * 100_000

    with pytest.raises(DeltaError) as caught:
        parsed(f'{{"{long}":0,"{long}":0}}')

    assert len(str(caught.value)) < 300


@requirement("SR-12.3")
def test_a_deep_value_that_is_refused_takes_no_more_memory_than_one_that_is_not() -> None:
    data = b"[" * 100_000
    tracemalloc.start()
    try:
        with pytest.raises(LimitExceeded):
            parsed(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 4 * 1024 * 1024
