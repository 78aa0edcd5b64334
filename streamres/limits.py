"""Every limit by name, with its default and the reason for the number (SR-12.3)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a server takes and gives at most; passing one is a clear error that changes nothing."""

    body_bytes: int = 4 * 1024 * 1024
    """One HTTP request body, or line over stdio. Far above any request of MCP, little enough for a thousand."""

    append_bytes: int = 16 * 1024 * 1024
    """One append. A producer with more makes several."""

    read_bytes: int = 16 * 1024 * 1024
    """The most that `maxBytes` can ask for; a read without `maxBytes` gives everything."""

    wait_ms: int = 30_000
    """The longest that `waitMs` holds an answer. Under the 60 s after which proxies cut a quiet request."""

    notification_bytes: int = 64 * 1024
    """Text in one notification; more goes in several, chained. One socket buffer's worth."""

    resources: int = 10_000
    """Resources that one memory store holds."""

    producers: int = 1_000
    """Producers that one resource remembers."""

    subscription_uris: int = 1_000
    """URIs that one subscription watches."""

    page_entries: int = 100
    """Entries in one page of a list."""

    connections: int = 10_000
    """Open connections; further ones are answered with HTTP 503."""

    requests: int = 1_000
    """Requests of one stdio peer that wait or stream at a time, subscriptions too; further ones are refused."""

    grace_s: float = 5.0
    """Seconds that a peer has, after the end began, to take what it was sent; HTTP counts whole ones."""

    ping_s: float = 15.0
    """Quiet time on a stream before a comment is sent, under the 30 s of the most impatient proxies."""
