"""`final-only`: `tools/call` answers once, at the end. The baseline that needs nothing and shows nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamres.carriers import call
from streamres.carriers.carrier import Seen, Traits
from streamres.carriers.reach import Cut, Reach
from streamres.carriers.serving import Asked, Message, serving
from streamres.protocol import words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp

    from streamres.carriers.content import Kind
    from streamres.carriers.source import Source


class FinalOnly:
    """Nothing before the end."""

    id = "final-only"
    traits = Traits(
        ordered=True,
        gap_seen=True,
        replay="no",
        late_joiner=False,
        on_task=True,
        on_call=True,
        structured=True,
        corrections=True,
        payload_for="model",
    )

    def serve(self, source: Source) -> AbstractAsyncContextManager[ASGIApp]:
        """Answers when the work is done."""

        async def answer(asked: Asked) -> Message:
            await source.end()
            return call.result(asked, source.kind, source.value)

        return serving(answers={words.CALL: answer})

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        """Calls, and waits. A call whose connection is cut is lost: to make it again would do the work again."""
        if reach.late:
            yield call.NOT_THERE
            return
        try:
            yield call.whole(kind, await reach.request(words.CALL, call.call()))
        except Cut:
            yield Seen(None, lost=True)


CARRIER = FinalOnly()
