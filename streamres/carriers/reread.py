"""`reread`: the core's `notifications/resources/updated`, which names it, then `resources/read` of all of it.

A reader reads when its subscription is acknowledged and after each notification, one read at a time. It listens
anew after a cut and makes a read again that was not answered, as the core lets it. Nothing says that there was
a change which it was not told, nor that nothing follows.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from streamres.carriers.carrier import Seen, Traits
from streamres.carriers.content import MIME_TYPES, as_text, from_text
from streamres.carriers.reach import Cut, Reach
from streamres.carriers.serving import Asked, Message, acknowledged, notification, serving
from streamres.carriers.source import URI
from streamres.protocol import words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp

    from streamres.carriers.content import Kind, Value
    from streamres.carriers.source import Source

FILTER = {"resourceSubscriptions": [URI]}


class Reread:
    """The whole content after each change."""

    id = "reread"
    traits = Traits(
        ordered=True,
        gap_seen=False,
        replay="whole",
        late_joiner=True,
        on_task=True,
        on_call=True,
        structured=True,
        corrections=True,
        payload_for="both",
    )

    def serve(self, source: Source) -> AbstractAsyncContextManager[ASGIApp]:
        """Tells of each change, and gives what there is."""

        async def read(asked: Asked) -> Message:
            return asked.result(contents=[contents(source.kind, source.value)], ttlMs=0, cacheScope="private")

        async def listen(asked: Asked) -> AsyncIterator[Message]:
            yield acknowledged(asked)
            seen = source.count
            while await source.more(seen):
                seen = source.count  # the core lets a server tell of several changes at once
                yield notification(words.UPDATED, _meta=asked.of_subscription(), uri=URI)
            await source.end_of_time()

        return serving(answers={words.READ: read}, streams={words.LISTEN: listen})

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        """Reads after each notification."""
        while True:
            try:
                async for _ in reach.stream(words.LISTEN, {"notifications": FILTER}):
                    yield Seen(await read_whole(reach, kind))
            except Cut:
                await reach.reconnect()


async def read_whole(reach: Reach, kind: Kind) -> Value:
    """Gives the content by a read of the core, made again until it is answered."""
    while True:
        try:
            result = await reach.request(words.READ, {"uri": URI})
            return value_of(kind, result["contents"][0])
        except Cut:
            await reach.reconnect()


def contents(kind: Kind, value: Value) -> dict[str, Any]:
    """Gives content as an item of the core's `contents`."""
    members = {"blob": b64encode(value).decode("ascii")} if kind == "blob" else {"text": as_text(value)}
    return {"uri": URI, "mimeType": MIME_TYPES[kind], **members}


def value_of(kind: Kind, item: Mapping[str, Any]) -> Value:
    """Gives the content of such an item."""
    return b64decode(item["blob"]) if kind == "blob" else from_text(kind, item["text"])


CARRIER = Reread()
