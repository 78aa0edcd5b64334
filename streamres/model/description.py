"""What a resource is, apart from its content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from streamres.errors import UriInvalid

if TYPE_CHECKING:
    from streamres.model.content import Kind
    from streamres.model.log import Head

Audience = Literal["user", "assistant"]

MIME_TYPES: Final[dict[Kind, str]] = {
    "text": "text/plain",
    "blob": "application/octet-stream",
    "json": "application/json",
}
"""What a resource of each kind is taken for unless its producer says more."""

MAX_URI_CHARS: Final = 2_048
"""Longest URI of a resource: what proxies are known to carry in one header."""

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[\w\-.~:/?#\[\]@!$&'()*+,;=%]+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The members of MCP's `Resource` that a producer states, and the kind of content (section 2).

    Raises:
        UriInvalid: `uri` is not an absolute URI, or longer than `MAX_URI_CHARS`.
    """

    uri: str
    name: str
    kind: Kind = "text"
    mime_type: str = "text/plain"
    title: str | None = None
    description: str | None = None
    audience: tuple[Audience, ...] = ()
    """For whom the output is meant; nothing said where empty (SR-8.1)."""
    listed: bool = True
    """Whether lists have it; who knows the URI of one that they leave out reads, watches and appends as ever."""

    def __post_init__(self) -> None:
        if len(self.uri) > MAX_URI_CHARS or _URI.fullmatch(self.uri) is None:
            raise UriInvalid(self.uri)


@dataclass(slots=True, kw_only=True)
class Entry:
    """A resource in a list: what it is and where it stands."""

    description: Description
    head: Head
