"""A JSON value is kept exactly: its types, its digits, its names and their order, and so its digest."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from requirement import requirement

from streamres.model.json_value import encode_json, json_digest

from .json_oracle import QUICKLY
from .json_text import parsed

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


@requirement("SR-2.3")
def test_a_pair_of_surrogates_is_the_character_it_stands_for() -> None:
    assert parsed(rb'{"\ud83d\ude00":"\uD83D\uDE00"}') == {"😀": "😀"}


@requirement("SR-2.3")
def test_names_that_only_look_alike_are_two() -> None:
    data = '{"é":1,"e\u0301":2,"":3,"\\u0000":4," ":5}'.encode()

    assert list(parsed(data).values()) == [1, 2, 3, 4, 5]


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
