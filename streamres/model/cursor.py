"""A position in one life of a resource's history, and the opaque token that stands for it (SR-4).

The token is base64url of: epoch (6 bytes), revision and length (LEB128), and four bytes of a hash over those
and the URI. The hash makes a cursor of another resource, or a damaged one, malformed instead of wrong (SR-4.3).
It is no secret and grants nothing (SR-4.4): a position that the history does not have is answered by a snapshot.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from streamres.errors import CursorInvalid

EPOCH_BITS: Final = 48
"""Width of an epoch. Drawn at random, two lives of one URI share one with a chance of 2**-48."""

MAX_CURSOR_CHARS: Final = 64
"""Longest token that is looked at: 6 + 9 + 9 + 4 bytes in base64 are 38 characters (SR-12.2)."""

_EPOCH_BYTES: Final = EPOCH_BITS // 8
_CHECK_BYTES: Final = 4
_MAX_VARINT_BYTES: Final = 9

_CACHED: Final = 4096
"""Tokens that are remembered: watchers of one resource use the same few."""


@dataclass(frozen=True, slots=True)
class Position:
    """A point in a history: content of `length` bytes, reached at `revision` of `epoch`.

    Where `length` is less than the revision's own, the position lies inside that revision: a read that was
    bounded by `maxBytes` stopped there.
    """

    epoch: int
    revision: int
    length: int


@lru_cache(_CACHED)
def encode_cursor(position: Position, uri: str) -> str:
    """Gives the token for a position of the resource at `uri`."""
    body = position.epoch.to_bytes(_EPOCH_BYTES) + _varint(position.revision) + _varint(position.length)
    return urlsafe_b64encode(body + _check(body, uri)).rstrip(b"=").decode("ascii")


@lru_cache(_CACHED)
def decode_cursor(token: str, uri: str) -> Position:
    """Gives the position that a token of the resource at `uri` stands for.

    Raises:
        CursorInvalid: the token was not made for this URI (SR-5.6).
    """
    if len(token) > MAX_CURSOR_CHARS:
        raise CursorInvalid(uri)
    try:
        raw = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
    except (UnicodeEncodeError, binascii.Error) as exc:
        raise CursorInvalid(uri) from exc
    body, check = raw[:-_CHECK_BYTES], raw[-_CHECK_BYTES:]
    revision, at = _read_varint(body, _EPOCH_BYTES)
    length, at = _read_varint(body, at)
    position = Position(int.from_bytes(body[:_EPOCH_BYTES]), revision, length)
    # Compared with the canonical form: base64 has spare bits and a varint can be padded.
    if at != len(body) or check != _check(body, uri) or encode_cursor(position, uri) != token:
        raise CursorInvalid(uri)
    return position


def _check(body: bytes, uri: str) -> bytes:
    return blake2b(body + uri.encode("utf-8", "surrogatepass"), digest_size=_CHECK_BYTES).digest()


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(raw: bytes, at: int) -> tuple[int, int]:
    """The number at `at` and where it ends; one that is cut or too long ends past the input."""
    number = 0
    for index, byte in enumerate(raw[at : at + _MAX_VARINT_BYTES]):
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number, at + index + 1
    return 0, len(raw) + 1
