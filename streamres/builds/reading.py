"""A part of a log for hosts that show no resources: what follows a cursor, and the cursor to go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from streamres.model import Append, Snapshot, decode_cursor, encode_cursor

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.store import Store


async def read_text(
    store: Store, limits: Limits, uri: str, since: str | None, wait_ms: int, max_bytes: int
) -> dict[str, Any]:
    """Gives `text`, `cursor`, `state` and `more`; `reset` where the text begins anew.

    Without news it waits up to `wait_ms` milliseconds for some.

    Raises:
        ResourceNotFound: there is no such log.
        CursorInvalid: `since` is none of its cursors.
    """
    position = None if since is None else decode_cursor(since, uri)
    with store.watch([uri]) as watch:
        head = (await store.entry(uri)).head
        if position == head.position and head.state == "open":
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
