"""A document of 1 MB under 10,000 small patches, and a string that grows: memory and bytes on the wire.

Nothing here is timed. The official server has no deltas, so there is no column for it: its reader would read the
document anew for each change.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmarks import http_answer, wire
from benchmarks.contestants import OURS
from benchmarks.load import WrongAnswer
from benchmarks.plan import KB, MB
from benchmarks.process import running
from benchmarks.row import Row

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from benchmarks.plan import Plan
    from benchmarks.process import ServerProcess

BAR_MEMORY_MB: Final = 30
"""Above what the document itself takes."""

BAR_FOLLOWED: Final = 1.3
"""Bytes that a follower is sent, for each byte of the patches."""

_URI: Final = "bench://document"
_GROWN: Final = "bench://grown"
_BURST: Final = 50
"""Patches that a follower finds at once: what an agent does in one of its steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    """What it took to make patches to a document, with one that follows and one that joins at the end."""

    grown_bytes: int
    """Resident memory of the server, above what it was with the document in it."""
    patch_bytes: int
    """The JSON of all patches as they were made."""
    followed_bytes: int
    """All that the follower was sent, heads and acknowledgement included."""
    followed_patch_bytes: int
    """The JSON of the patches that it was sent."""
    late: list[dict[str, Any]]
    """The results that one who comes back with the first cursor reads, up to the head."""
    late_bytes: int
    """All that it was sent."""
    joined: dict[str, Any]
    """The result that one who joins at the end reads."""
    document: Any
    """The document as it has it."""
    operations: list[dict[str, Any]]
    """All operations that the follower was sent, in their order."""


def measure(plan: Plan) -> Iterator[Row]:
    """Gives the four rows."""
    with running(OURS) as (server,):
        done = patched(server, size=plan.document_bytes, patches=plan.patches)
        size = len(json.dumps(done.document, separators=(",", ":")))
        name = f"json, {plan.patches:,} patches"
        yield Row(
            name=f"{name}: memory",
            ours=f"{done.grown_bytes / MB:.1f} MB above {size / MB:.1f} MB",
            bar=f"{BAR_MEMORY_MB} MB",
            met=done.grown_bytes < BAR_MEMORY_MB * MB,
        )
        followed = done.followed_bytes / done.patch_bytes
        yield Row(
            name=f"{name}: follower",
            ours=f"{followed:.2f} ({done.followed_bytes / KB:.0f} KB)",
            bar=f"{BAR_FOLLOWED}",
            met=followed <= BAR_FOLLOWED,
        )
        yield Row(
            name=f"{name}: late reader",
            ours=f"{len(done.late)} answer ({done.late_bytes / KB:.0f} KB)",
            bar="1 answer",
            met=len(done.late) == 1,
        )
        appended, plainly = grown(server, appends=plan.growths, reads=plan.growth_reads)
        halves = sum(appended[: len(appended) // 2]), sum(appended[len(appended) // 2 :])
        yield Row(
            name=f"json, {plan.growths:,} appends: wire",
            ours=f"{sum(halves) / KB:.0f} KB (RFC 6902: {sum(plainly) / KB:.0f} KB)",
            bar="linear",
            met=halves[1] <= 1.1 * halves[0],
        )


def patched(server: ServerProcess, *, size: int, patches: int) -> Patched:
    """Has a document made and patched, and follows it over a raw socket."""
    first = server.tell("document", _URI, size=size)["cursor"]
    _read(server, wire.read(_URI))
    before = server.resident_bytes
    with http_answer.connect(server.port) as sock:
        sock.sendall(wire.listen(_URI, "follower", "delta", _meta=wire.APPENDS))
        received = _until(sock, bytearray(), first)
        done = server.tell("patch", _URI, begin=0, count=patches, burst=_BURST)
        received = _until(sock, received, done["cursor"])
    deltas = [update["params"]["delta"]["patch"] for update in _updates(bytes(received))]
    late, late_bytes, cursor = [], 0, first
    while not late or late[-1].get("more"):
        answer = _read(server, wire.read(_URI, since=cursor, _meta=wire.APPENDS))
        late.append(http_answer.message(answer)["result"])
        late_bytes += len(answer)
        cursor = late[-1]["cursor"]
    joined = http_answer.message(_read(server, wire.read(_URI, _meta=wire.APPENDS)))["result"]
    return Patched(
        grown_bytes=server.resident_bytes - before,
        patch_bytes=done["bytes"],
        followed_bytes=len(received),
        followed_patch_bytes=sum(len(json.dumps(patch, separators=(",", ":"))) for patch in deltas),
        late=late,
        late_bytes=late_bytes,
        joined=joined,
        document=json.loads(joined["contents"][0]["text"]),
        operations=[operation for patch in deltas for operation in patch],
    )


def grown(server: ServerProcess, *, appends: int, reads: int) -> tuple[list[int], list[int]]:
    """Gives the bytes of each read since the last one, while a string grows: with `append`, and without."""
    cursor = server.tell("document", _GROWN, size=0)["cursor"]
    appended, plainly = [], []
    for _ in range(reads):
        head = server.tell("grow", _GROWN, count=appends // reads)["cursor"]
        for sizes, meta in ((appended, wire.APPENDS), (plainly, {})):
            answer = _read(server, wire.read(_GROWN, since=cursor, _meta=meta))
            if http_answer.message(answer)["result"]["cursor"] != head:
                raise WrongAnswer(answer[:2_000].decode("latin-1"))
            sizes.append(len(answer))
        cursor = head
    return appended, plainly


def _read(server: ServerProcess, request: bytes) -> bytes:
    with http_answer.connect(server.port) as sock:
        sock.sendall(request)
        return http_answer.receive(sock)


def _until(sock: socket.socket, received: bytearray, cursor: str) -> bytearray:
    """Reads on until the stream says that cursor and the message is whole."""
    said = f'"cursor":"{cursor}"'.encode()
    while said not in received or not received.endswith(b"\r\n"):
        more = sock.recv(1024 * 1024)
        if not more:
            raise ConnectionError("the server ended the subscription")
        received += more
    return received


def _updates(received: bytes) -> list[dict[str, Any]]:
    lines = http_answer.body(received).replace(b"\r\n", b"\n").split(b"\n")
    _, *updates = [json.loads(line[len(b"data: ") :]) for line in lines if line.startswith(b"data: ")]
    return updates
