"""`progress-message`: `notifications/progress` with the output in its `message`, on the stream of the call.

The text says that `progress` grows with each notification, and no more: a reader puts messages in that order,
leaves out a number that it has, and cannot tell whether one is missing. What the message is when it is not for
people, the text leaves open: here the text that was added, bytes as base64, and of a document all of it as
JSON, the last one counting.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from streamres.carriers import call
from streamres.carriers.carrier import Seen, Traits
from streamres.carriers.content import EMPTY, Append, as_text, from_text
from streamres.carriers.reach import Cut, Reach
from streamres.carriers.serving import Asked, Message, notification, serving
from streamres.protocol import words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp

    from streamres.carriers.content import Change, Kind, Value
    from streamres.carriers.source import Source


class ProgressMessage:
    """A string a step, beside the number of the step."""

    id = "progress-message"
    traits = Traits(
        ordered=True,
        gap_seen=False,
        replay="no",
        late_joiner=False,
        on_task=False,
        on_call=True,
        structured=False,
        corrections=False,
        payload_for="user",
    )

    def serve(self, source: Source) -> AbstractAsyncContextManager[ASGIApp]:
        """Tells each change, then answers with everything."""

        async def stream(asked: Asked) -> AsyncIterator[Message]:
            token = asked.meta["progressToken"]
            async for seen, change in source.changes():
                message = _message(change, source.value_at(seen))
                yield notification(words.PROGRESS, progressToken=token, progress=seen, message=message)
            yield call.result(asked, source.kind, source.value)

        return serving(streams={words.CALL: stream})

    async def read(self, reach: Reach, kind: Kind) -> AsyncIterator[Seen]:
        """Calls, and puts the messages in order; the result is in place of all of them."""
        if reach.late:
            yield call.NOT_THERE
            return
        messages: dict[float, str] = {}
        try:
            async for message in reach.stream(words.CALL, call.call(progressToken=call.TOKEN)):
                if "result" in message:
                    yield call.whole(kind, message["result"])
                    return
                params = message["params"]
                messages.setdefault(params["progress"], params["message"])
                yield Seen(_content(kind, messages))
        except Cut:
            yield Seen(_content(kind, messages), lost=True)


def _message(change: Change, value: Value) -> str:
    match change:
        case Append(str(text)):
            return text
        case Append(bytes(data)):
            return b64encode(data).decode("ascii")
        case _:
            return as_text(value)


def _content(kind: Kind, messages: Mapping[float, str]) -> Value:
    if not messages:
        return EMPTY[kind]
    if kind == "json":
        return from_text(kind, messages[max(messages)])
    parts = [messages[number] for number in sorted(messages)]
    return "".join(parts) if kind == "text" else b"".join(map(b64decode, parts))


CARRIER = ProgressMessage()
