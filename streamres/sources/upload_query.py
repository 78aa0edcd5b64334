"""What the query of an upload says, each of it checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from streamres.errors import InvalidParams
from streamres.model import SEALS, AppendNumber

if TYPE_CHECKING:
    from streamres.model import Seal

Query = Mapping[str, str]
"""Parameters by name; of one that is there twice, the last."""

_NUMBER: Final = frozenset({"producer", "epoch", "seq"})
_SHA_256: Final = re.compile(r"sha-256=:[A-Za-z0-9+/]{43}=:")


def query_of(query_string: bytes) -> Query:
    """Gives the parameters of a query as it came."""
    return dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True))


def count_in(query: Query, name: str) -> int:
    """Gives an integer.

    Raises:
        InvalidParams: it is not there, or none.
    """
    value = query.get(name, "")
    if not value.isascii() or not value.isdigit() or len(value) > 18:
        raise InvalidParams(f"{name} is an integer, at least 0")
    return int(value)


def number_in(query: Query) -> AppendNumber | None:
    """Gives the number of the append (SR-9.1), None where it has none.

    Raises:
        InvalidParams: a part of it is missing, or not a number.
    """
    if query.keys().isdisjoint(_NUMBER):
        return None
    if "producer" not in query:
        raise InvalidParams("epoch and seq number the appends of a producer")
    return AppendNumber(producer=query["producer"], epoch=count_in(query, "epoch"), seq=count_in(query, "seq"))


def seal_in(query: Query) -> Seal | None:
    """Gives the seal, None where nothing is sealed.

    Raises:
        InvalidParams: there is no such seal.
    """
    value = query.get("seal")
    if value is None:
        return None
    for seal in SEALS:
        if value == seal:
            return seal
    raise InvalidParams('seal is "complete" or "aborted"')


def digest_in(query: Query, seal: Seal | None) -> str | None:
    """Gives the digest that what is sealed has to have, None where none is demanded.

    Raises:
        InvalidParams: nothing is sealed, or it is not in the form of RFC 9530.
    """
    value = query.get("digest")
    if value is None:
        return None
    if seal is None:
        raise InvalidParams("digest comes with a seal")
    if not _SHA_256.fullmatch(value):
        raise InvalidParams("digest is sha-256=:BASE64: (RFC 9530)")
    return value
