"""JSON values from bytes and back: kept exactly, or refused.

What two parsers would read in two ways is refused here: duplicate names, NaN, numbers that no double holds, lone
surrogates. Integers are exact, up to the 4,300 digits that Python reads.
"""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal, DecimalException
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NoReturn

import rfc8785

from streamres.errors import DeltaError, LimitExceeded
from streamres.model.digest import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable

JsonValue = Any
"""None, bool, int, float, str, a list of these, or a dict of them by str."""

_ENCODE: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
).encode


def parse_json(data: bytes, *, max_depth: int, around: int = 0) -> JsonValue:
    """Gives the value that `data` is the JSON of; `around` levels more than `max_depth` are none of its own.

    Raises:
        DeltaError: it is no JSON, or JSON that would not be kept exactly.
        LimitExceeded: `json_depth`.
    """
    try:
        value = _DECODE(str(data, "utf-8"))
    except UnicodeDecodeError as exc:
        raise DeltaError(f"not UTF-8: {exc.reason} at byte {exc.start}") from exc
    except RecursionError as exc:
        raise _too_deep(max_depth) from exc
    except ValueError as exc:
        raise DeltaError(f"not JSON: {exc}") from exc
    if b"\\ud" in data or b"\\uD" in data:
        encode_json(value)  # refuses half a pair, which no UTF-8 has
    if data.count(b"[") + data.count(b"{") > max_depth and depth_of(value) > max_depth + around:
        raise _too_deep(max_depth)
    return value


def encode_json(value: JsonValue) -> bytes:
    """Gives the JSON of a value, without spaces, as UTF-8.

    Raises:
        DeltaError: it is no JSON value, or holds a lone surrogate.
    """
    try:
        return _ENCODE(value).encode("utf-8")
    except UnicodeEncodeError as exc:
        raise DeltaError("a string has a lone surrogate, which no UTF-8 has") from exc
    except RecursionError as exc:
        raise DeltaError("the value is nested too deep, or contains itself") from exc
    except (TypeError, ValueError) as exc:
        raise DeltaError(f"not a JSON value: {exc}") from exc


def encode_given(value: JsonValue) -> bytes:
    """Gives the JSON of a value that a program made; raises as `encode_json`, also where a name is no string."""
    data = encode_json(value)
    level = [value]
    while level := [parent for parent in level if isinstance(parent, dict | list | tuple)]:
        for parent in level:
            if isinstance(parent, dict) and not all(isinstance(name, str) for name in parent):
                raise DeltaError("not a JSON value: the names in an object are strings")
        level = [child for parent in level for child in _items(parent)]
    return data


def json_digest(value: JsonValue) -> str | None:
    """Gives the digest of the RFC 8785 form; None for a value outside I-JSON, which has no such form (SR-3.4)."""
    try:
        return digest_of(sha256(rfc8785.dumps(value)))
    except rfc8785.CanonicalizationError:
        return None


def depth_of(value: JsonValue) -> int:
    """Gives how deep arrays and objects are nested: 0 for a string or number."""
    depth = 0
    level = [value]
    while level := [parent for parent in level if isinstance(parent, dict | list)]:
        depth += 1
        level = [child for parent in level for child in _items(parent)]
    return depth


def _items(parent: dict[str, JsonValue] | list[JsonValue] | tuple[JsonValue, ...]) -> Iterable[JsonValue]:
    return parent.values() if isinstance(parent, dict) else parent


def _too_deep(max_depth: int) -> LimitExceeded:
    return LimitExceeded("json_depth", max_depth, "nest less, or keep the inner part in a resource of its own")


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {twice[:40]!r} stands twice in one object")
    return members


def _number(text: str) -> float:
    value = float(text)
    if repr(value) != text and not _holds(value, text):
        raise ValueError(f"no double holds the number {text[:40]}; send it as a string")
    return value


def _holds(value: float, text: str) -> bool:
    """Whether as many digits as were sent are what the double gives back: so of 0.10 and 1e2, not of 1e999."""
    try:
        sent = Decimal(text)
        digits = len(sent.normalize().as_tuple().digits)
    except DecimalException:
        return False  # an exponent beyond all bounds
    return Decimal(f"{value:.{digits - 1}e}") == sent


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODE: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_constant=_constant).decode
