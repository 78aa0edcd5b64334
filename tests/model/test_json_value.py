"""JSON from strangers: each value is kept exactly, of its own type, or refused; hostile bytes cost little."""

from __future__ import annotations

import json
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.errors import DeltaError, LimitExceeded
from streamres.model.json_value import depth_of, encode_given, encode_json, json_digest, parse_json

from .json_oracle import QUICKLY

DEPTH = 128

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def parsed(data: bytes | str) -> Any:  # noqa: ANN401
    return parse_json(data.encode() if isinstance(data, str) else data, max_depth=DEPTH)


def typed(value: object) -> object:
    """The value with its types, so that 1, 1.0 and true are three, and 0.0 and -0.0 are two."""
    match value:
        case dict():
            return [(name, typed(inner)) for name, inner in value.items()]
        case list():
            return [typed(inner) for inner in value]
        case _:
            return type(value), repr(value)


@requirement("SR-2.3")
@settings(QUICKLY, max_examples=300)
@given(values)
def test_any_value_comes_back_exactly_with_its_types_and_the_order_of_its_members(value: object) -> None:
    assert typed(parsed(encode_json(value))) == typed(value)


@requirement("SR-2.3")
@settings(QUICKLY, max_examples=300)
@given(values, st.booleans(), st.sampled_from([None, 0, 3]))
def test_however_it_is_written_the_value_is_the_same(value: object, ascii_only: bool, indent: int | None) -> None:
    written = json.dumps(value, ensure_ascii=ascii_only, indent=indent)

    assert typed(parsed(written)) == typed(value)


EXACT: dict[str, tuple[str, object]] = {
    "beyond what a double counts": ("9007199254740993", 2**53 + 1),
    "beyond 64 bits": ("-18446744073709551617", -(2**64) - 1),
    "4,000 digits": ("7" * 4_000, int("7" * 4_000)),
    "a tenth": ("0.1", 0.1),
    "a zero at the end": ("0.10", 0.1),
    "a zero of any exponent": ("0e999999", 0.0),
    "an exponent": ("1e2", 100.0),
    "a large exponent sign": ("1E+2", 100.0),
    "a point and nothing": ("1.0", 1.0),
    "17 digits": ("0.30000000000000004", 0.1 + 0.2),
    "the nearest of 17 digits": ("0.10000000000000001", 0.1),
    "minus nothing": ("-0.0", -0.0),
    "the least double": ("5e-324", 5e-324),
    "the least double, more digits": ("4.9406564584124654e-324", 5e-324),
    "a denormal": ("2.225073858507201e-308", 2.225073858507201e-308),
    "the largest double": ("1.7976931348623157e308", 1.7976931348623157e308),
    "all digits of a double": ("0.1000000000000000055511151231", 0.1),
}


@requirement("SR-2.3")
@pytest.mark.parametrize(("written", "value"), EXACT.values(), ids=EXACT)
def test_a_number_that_can_be_kept_is_kept(written: str, value: object) -> None:
    kept = parsed(f"[{written}]")

    assert typed(kept) == typed([value])
    assert typed(parsed(encode_json(kept))) == typed(kept)


NO_DOUBLE = {
    "too large": "1e999",
    "rounded up to infinity": "1.7976931348623159e308",
    "too small": "1e-999",
    "between nothing and the least double": "2e-324",
    "between two denormals": "3e-324",
    "more digits than a double has": "0.1234567890123456789",
    "an integer as a float": "9007199254740993.0",
    "forty digits": "0." + "1" * 40,
    "an exponent without end": "1e99999999999999999999",
    "an exponent far below": "1e-99999999999999999999",
    "an exponent just past what decimals take": "1e1000000",
    "nothing with an exponent without end": "0e99999999999999999999",
    "a million digits": "0." + "1" * 1_000_000,
    "an integer of 5,000 digits": "1" * 5_000,
    "an integer of a million digits": "1" * 1_000_000,
    "not a number": "NaN",
    "infinity": "Infinity",
    "minus infinity": "-Infinity",
}


@requirement("SR-2.3")
@requirement("SR-12.3")
@pytest.mark.parametrize("written", NO_DOUBLE.values(), ids=NO_DOUBLE)
def test_a_number_that_cannot_be_kept_is_refused_in_few_words(written: str) -> None:
    begin = time.process_time()

    with pytest.raises(DeltaError) as caught:
        parsed(f'{{"n":[{written}]}}')

    assert len(str(caught.value)) < 300
    assert time.process_time() - begin < 1


NO_JSON: dict[str, bytes] = {
    "nothing": b"",
    "spaces": b" \n",
    "two values": b"1 2",
    "something after the end": b"{}x",
    "a zero byte after the end": b"{}\0",
    "cut": b'{"a":[1,',
    "a cut string": b'"a',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": "{}".encode("utf-16"),
    "a raw line end in a string": b'"a\nb"',
    "a byte that no UTF-8 has": b'"\xff"',
    "a long form": b'"\xc0\xaf"',
    "a surrogate as UTF-8": b'"\xed\xa0\x80"',
    "beyond the last code point": b'"\xf4\x90\x80\x80"',
    "a lone high surrogate": b'"\\ud83d"',
    "a lone low surrogate": b'"\\uDE00"',
    "surrogates the wrong way round": b'"\\ude00\\ud83d"',
    "a high surrogate before a letter": b'["\\ud83dx"]',
    "a lone surrogate in a name": b'{"a":{"\\uD800":1}}',
    "an unknown escape": b'"\\x41"',
    "half an escape": b'"\\u00"',
    "single quotes": b"{'a':1}",
    "a comma at the end": b"[1,]",
    "a comment": b"[1 /* one */]",
    "a leading zero": b"01",
    "a plus sign": b"+1",
    "digits of another script": "[\u0661]".encode(),
    "no digit before the point": b".5",
    "no digit after the point": b"5.",
    "a name twice": b'{"a":1,"a":2}',
    "a name twice, the same value": b'{"a":1,"a":1}',
    "a name twice far inside": b'[{"x":[{"a":1,"b":2,"a":3}]}]',
    "a name twice, once escaped": b'{"a":1,"\\u0061":2}',
    "another space": "\u00a01".encode(),
}


@requirement("SR-2.3")
@pytest.mark.parametrize("data", NO_JSON.values(), ids=NO_JSON)
def test_what_two_parsers_could_take_for_two_things_is_refused(data: bytes) -> None:
    with pytest.raises(DeltaError):
        parsed(data)


@requirement("SR-2.3")
def test_a_pair_of_surrogates_is_the_character_it_stands_for() -> None:
    assert parsed(rb'{"\ud83d\ude00":"\uD83D\uDE00"}') == {"😀": "😀"}


@requirement("SR-2.3")
def test_names_that_only_look_alike_are_two() -> None:
    data = '{"é":1,"e\u0301":2,"":3,"\\u0000":4," ":5}'.encode()

    assert list(parsed(data).values()) == [1, 2, 3, 4, 5]


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


def endless() -> list[object]:
    inside: list[object] = []
    inside.append(inside)
    return inside


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


NO_VALUE: dict[str, object] = {
    "NaN": float("nan"),
    "infinity": [float("inf")],
    "bytes": b"a",
    "a set": {1},
    "an object": object(),
    "a lone surrogate": "\ud800",
    "a lone surrogate in a name": {"\udfff": 1},
    "itself": endless(),
    "a hundred thousand lists": nested(100_000),
    "an integer of 5,000 digits": 10**5_000,
}


@requirement("SR-2.3")
@pytest.mark.parametrize("value", NO_VALUE.values(), ids=NO_VALUE)
def test_what_is_no_json_value_is_not_encoded(value: object) -> None:
    for encode in (encode_json, encode_given):
        with pytest.raises(DeltaError):
            encode(value)


@requirement("SR-2.3")
@pytest.mark.parametrize(
    "value",
    [{1: "a"}, [{True: "a"}], {"a": {None: "a"}}, ({0.5: "a"},), {1: "a", "1": "b"}],
    ids=["a number", "true", "null", "a float", "a number and its string"],
)
def test_a_name_that_is_no_string_is_refused_of_a_program_and_not_turned_into_one(value: object) -> None:
    with pytest.raises(DeltaError):
        encode_given(value)


@requirement("SR-3.4.b")
@requirement("SR-3.4.c")
@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        (None, "dCNOmK/nSY+12vHzasLXiswzlGT5UHA7jAGYkvmCuQs="),
        ({"b": 1, "a": [True, "é"]}, "g6OXkFmuyOOFexyOIyqKVKQV8CoiOuqjupdlTr70QCA="),
        (2**53 - 1, "9AtCPC3ZX/Ky8CfiIgj0OM9yQoYuXnRoYOaXMIya3SY="),
        (2**53, None),
        ([-(2**53)], None),
        ({"a": 10**40}, None),
    ],
    ids=["null", "an object", "the last integer of I-JSON", "the next one", "below it", "a large one"],
)
def test_the_digest_is_that_of_the_canonical_form_and_left_out_where_there_is_none(
    value: object, canonical: str | None
) -> None:
    assert json_digest(value) == (None if canonical is None else f"sha-256=:{canonical}:")
