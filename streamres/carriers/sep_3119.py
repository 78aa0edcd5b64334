"""`sep-3119`: `embedResources` on listen; `notifications/resources/updated` carries the whole new content.

A reader reads once when its subscription is acknowledged, as in the core, for what was there before. What comes
in a notification is in place of all that it had; nothing says which of two contents is the newer one. Of a
document the content is its JSON as text. Nothing says that nothing follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamres.carriers.carrier import Seen, Traits
from streamres.carriers.reach import Cut, Reach
from streamres.carriers.reread import FILTER, contents, read_whole, value_of
from streamres.carriers.serving import Asked, Message, acknowledged, notification, serving
from streamres.protocol import words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp

    from streamres.carriers.content import Kind
    from streamres.carriers.source import Source


class Sep3119:
    """The whole content in each notification."""

    id = "sep-3119"
    traits = Traits(
        ordered=False,
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
        """Sends the content at each change, and gives it to those who read."""

        async def read(asked: Asked) -> Message:
            return asked.result(contents=[contents(source.kind, source.value)], ttlMs=0, cacheScope="private")

        async def listen(asked: Asked) -> AsyncIterator[Message]:
            yield acknowledged(asked)
            seen = source.count
            while await source.more(seen):
                seen = source.count
                meta = asked.of_subscription()
                yield notification(words.UPDATED, _meta=meta, **contents(source.kind, source.value))
            await source.end_of_time()

        return serving(answers={words.READ: read}, streams={words.LISTEN: listen})

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        """Takes what comes."""
        asked = {"notifications": {**FILTER, "embedResources": True}}
        while True:
            try:
                async for message in reach.stream(words.LISTEN, asked):
                    if message["method"] == words.UPDATED:
                        yield Seen(value_of(kind, message["params"]))
                    else:
                        yield Seen(await read_whole(reach, kind))
            except Cut:
                await reach.reconnect()


CARRIER = Sep3119()
