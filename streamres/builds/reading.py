"""A part of a log for hosts that show no resources: what follows a cursor, and the cursor to go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from streamres.errors import ResourceNotFound
from streamres.model import Append, Snapshot, decode_cursor, encode_cursor

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.store import Store


async def read_text(
    store: Store, limits: Limits, uri: str, since: str | None, wait_ms: int, max_bytes: int
) -> dict[str, Any]:
    """Gives `text`, `cursor`, `state` and `more`; `reset` where the text begins anew.

    Without news it waits up to `wait_ms` milliseconds for some, `Limits.wait_ms` at most; at the beginning of a
    text that has nothing yet, too.

    Raises:
        ResourceNotFound: there is no such text.
        CursorInvalid: `since` is none of its cursors.
    """
    position = None if since is None else decode_cursor(since, uri)
    with store.watch([uri]) as watch:
        entry = await store.entry(uri)
        if entry.description.kind != "text":
            raise ResourceNotFound(uri)
        head = entry.head
        has_news = head.position.length > 0 if position is None else position != head.position
        if not has_news and head.state == "open":
            with anyio.move_on_after(min(wait_ms, limits.wait_ms) / 1000):
                await watch.wait()
    reading = await store.read(uri, position, max_bytes=max_bytes)
    step = reading.step
    assert isinstance(step, Append | Snapshot)
    answer: dict[str, Any] = {
        "text": b"".join(step.slices()).decode("utf-8"),
        "cursor": encode_cursor(step.stop, uri),
        "state": reading.state,
        "more": reading.more,
    }
    return answer if reading.reset is None else {**answer, "reset": reading.reset}
