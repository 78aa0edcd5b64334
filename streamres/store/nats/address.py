"""Where a stream is: `nats://HOST:PORT[,HOST:PORT…][/STREAM]`."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from streamres.errors import StoreError

DEFAULT_STREAM: Final = "streamres"

MAX_TOKEN_URI_BYTES: Final = 96
"""Longest URI that its subject spells out, so that an operator can read it; a longer one is there by its hash."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The servers of one cluster, and the stream in it that is the store."""

    servers: tuple[str, ...]
    stream: str = DEFAULT_STREAM

    @classmethod
    def parse(cls, text: str) -> Address:
        """Gives the address that `text` states; each host may have `USER:PASSWORD@` before it.

        Raises:
            StoreError: it is none.
        """
        hosts, _, stream = text.removeprefix("nats://").partition("/")
        servers = tuple(f"nats://{host}" for host in hosts.split(",") if host)
        if not text.startswith("nats://") or not servers or (stream and _NAME.fullmatch(stream) is None):
            raise StoreError(
                f"{hidden(text)!r} is no store; it looks like nats://HOST:PORT or nats://HOST:PORT/STREAM"
            )
        return cls(servers=servers, stream=stream or DEFAULT_STREAM)

    @property
    def shown(self) -> str:
        """The address for a message: without passwords."""
        return hidden(",".join(self.servers)) + "/" + self.stream

    def subject(self, uri: str) -> str:
        """Gives the subject of what happens to a resource."""
        return f"{self.stream}.r.{_token(uri)}"

    def parts_subject(self, uri: str) -> str:
        """Gives the subject of the parts of what is too large for one message."""
        return f"{self.stream}.p.{_token(uri)}"

    @property
    def subjects(self) -> list[str]:
        """All that the stream takes."""
        return [f"{self.stream}.r.*", f"{self.stream}.p.*"]

    def is_part(self, subject: str) -> bool:
        """Says whether it is a subject of parts."""
        return subject.startswith(f"{self.stream}.p.")


def hidden(text: str) -> str:
    """Gives an address with names and passwords left away."""
    return re.sub(r"[^/,@]*@", "", text)


def _token(uri: str) -> str:
    encoded = uri.encode()
    if len(encoded) > MAX_TOKEN_URI_BYTES:
        return "h" + sha256(encoded).hexdigest()
    return "u" + urlsafe_b64encode(encoded).decode().rstrip("=")
