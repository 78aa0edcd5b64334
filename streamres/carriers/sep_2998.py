"""`sep-2998`: `notifications/tools/partial_result` with `seq`, on the stream of the call.

Chunks are applied in the order of `seq`, and early ones are held, as the text allows; for how long, it leaves
open: here until more than `WINDOW` wait. Then, or at a cut, what is missing is lost and the reader knows; the
result is complete. How structured content is merged is the consumer's contract: here each is an RFC 6902 patch,
which needs the fewest bytes; after a gap no patch has its base, so the document stands still until the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from streamres.carriers import call
from streamres.carriers.carrier import Seen, Traits
from streamres.carriers.content import EMPTY, Patch, applied
from streamres.carriers.reach import Cut, Reach
from streamres.carriers.serving import Asked, Message, notification, serving
from streamres.protocol import words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp

    from streamres.carriers.content import Change, Kind
    from streamres.carriers.source import Source

WINDOW: Final = 8
"""Chunks that are held for one that is missing before them."""


class Sep2998:
    """Numbered chunks, best effort."""

    id = "sep-2998"
    traits = Traits(
        ordered=True,
        gap_seen=True,
        replay="no",
        late_joiner=False,
        on_task=False,
        on_call=True,
        structured=True,
        corrections=False,
        payload_for="unsaid",
    )

    def serve(self, source: Source) -> AbstractAsyncContextManager[ASGIApp]:
        """Sends each change as a chunk, then answers with everything."""

        async def stream(asked: Asked) -> AsyncIterator[Message]:
            token, kind = asked.meta["partialResultToken"], source.kind
            if kind == "json":
                first = {"content": [], "structuredContent": {"patch": _set(source.begin)}}
                yield notification(words.PARTIAL_RESULT, partialResultToken=token, seq=0, **first)
            async for seen, change in source.changes():
                seq = seen if kind == "json" else seen - 1
                yield notification(words.PARTIAL_RESULT, partialResultToken=token, seq=seq, **_chunk(kind, change))
            yield call.result(asked, kind, source.value)

        return serving(streams={words.CALL: stream})

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        """Calls, and applies the chunks in order; the result is in place of all of them."""
        if reach.late:
            yield call.NOT_THERE
            return
        value, due, lost = EMPTY[kind], 0, False
        held: dict[int, Mapping[str, Any]] = {}
        asking = reach.stream(
            words.CALL, call.call(partialResultToken=call.TOKEN), capabilities={"partialResults": {}}
        )
        try:
            async for message in asking:
                if "result" in message:
                    yield call.whole(kind, message["result"])
                    return
                chunk = message["params"]
                if chunk["seq"] >= due:
                    held[chunk["seq"]] = chunk
                if len(held) > WINDOW:
                    due, lost = min(held), True
                while due in held:
                    taken = held.pop(due)
                    due += 1
                    if kind != "json":
                        value = call.data_of(taken["content"], value)
                    elif not lost:
                        value = applied(value, Patch(taken["structuredContent"]["patch"]))
                yield Seen(value, lost=lost)
        except Cut:
            yield Seen(value, lost=True)


def _chunk(kind: Kind, change: Change) -> dict[str, Any]:
    if isinstance(change, Patch):
        return {"content": [], "structuredContent": {"patch": change.operations}}
    data = call.chunk(change)
    assert data is not None
    return {"content": call.blocks(kind, data)}


def _set(value: object) -> list[dict[str, Any]]:
    return [{"op": "replace", "path": "", "value": value}]


CARRIER = Sep2998()
