"""What is no JSON value, or could be taken for two, is refused: read from bytes or given by a program."""

from __future__ import annotations

import time

import pytest
from requirement import requirement

from streamres.errors import DeltaError
from streamres.model.json_value import encode_given, encode_json

from .json_text import parsed

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
