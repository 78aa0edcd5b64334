"""Every limit by name, with its default and the reason for the number (SR-12.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BUFFER_BYTES: Final = 16 * 1024 * 1024
"""What a producer without a spool holds undelivered at most: an append as large as a server takes."""

SPOOL_BYTES: Final = 1024 * 1024 * 1024
"""What a producer's spool holds undelivered at most: hours of a log, while the server is away."""

TASK_AFTER_S: Final = 5.0
"""Seconds until a call through the bridge becomes a task, for a client that takes tasks: most are over by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a server takes and gives at most; passing one is a clear error that changes nothing."""

    body_bytes: int = 4 * 1024 * 1024
    """One HTTP request body, or line over stdio. Far above any request of MCP, little enough for a thousand."""

    append_bytes: int = 16 * 1024 * 1024
    """One append. A producer with more makes several."""

    uploads: int = 1_000
    """Uploads over HTTP that are read or wait for the store at a time; further ones are answered with 503."""

    upload_bytes: int = 256 * 1024 * 1024
    """Bytes of those in all, so that a store that is slow slows its producers and fills no memory."""

    json_bytes: int = 4 * 1024 * 1024
    """One json document. A reader that joins gets it whole, so what is larger belongs in several resources."""

    json_depth: int = 128
    """Arrays and objects in one another. Below what the parsers of every language take."""

    patch_ops: int = 1_000
    """Operations in one patch. It is made in one piece, and others wait for that long."""

    read_bytes: int = 16 * 1024 * 1024
    """The most that `maxBytes` can ask for; a read without `maxBytes` gives everything."""

    history_bytes: int | None = None
    """Deltas kept of one resource, in bytes; None keeps all. Older cursors are `expired`; the content stays."""

    history_s: float | None = None
    """Seconds for which a cursor is good at least; None is for as long as the resource is there."""

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

    sessions: int = 10_000
    """Sessions of the older era over HTTP, each with up to `subscription_uris`. One more ends the longest
    unused that has no stream; it is refused where each has one."""

    session_idle_s: float = 3_600.0
    """Seconds after which a session ends that has no open stream and asks for nothing; its client begins anew."""

    page_entries: int = 100
    """Entries in one page of a list."""

    calls: int = 1_000
    """Calls of tools that are under way at a time, tasks too; further ones are refused."""

    call_s: float = 3_600.0
    """Seconds that a call may take whose tool says nothing else; then it is cancelled and has failed."""

    output_bytes: int = 1024 * 1024 * 1024
    """What one call writes to its outputs at most; then its tool fails, and what it had is kept."""

    gap_partials: int = 64
    """Partial results of a foreign server that wait for one that is missing before them; with more, it is given up
    and the gap recorded (SR-11.2.b). A network reorders neighbours, and each that waits is held in memory."""

    gap_s: float = 1.0
    """Seconds for which they wait. Long for a network, short for a person who watches."""

    task_ttl_s: float = 3_600.0
    """Seconds for which a task is known after its end, and until which one is expected to end."""

    output_ttl_s: float = 86_400.0
    """Seconds for which outputs stay after their call that have no URI of their own; a log of a night is one."""

    connections: int = 10_000
    """Open connections; further ones are answered with HTTP 503."""

    requests: int = 1_000
    """Requests of one stdio peer that wait or stream at a time, subscriptions too; further ones are refused."""

    grace_s: float = 5.0
    """Seconds that a peer has, after the end began, to take what it was sent; HTTP counts whole ones."""

    ping_s: float = 15.0
    """Quiet time on a stream before a comment is sent, under the 30 s of the most impatient proxies."""
