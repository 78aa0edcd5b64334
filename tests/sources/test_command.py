"""A command's channel: what is in it when no more is expected is handed over, whatever is being done just then."""

from __future__ import annotations

import os

import anyio
from requirement import requirement

from streamres.sources.command import Channel, open_pipe


@requirement("SR-3.2")
async def test_what_is_taken_while_no_more_is_expected_is_not_counted_as_what_is_left() -> None:
    source, sink = open_pipe()  # held open, as by a child that outlives the command
    channel, taken = Channel(source), b""
    os.write(sink, b"first ")

    async def take(data: bytes) -> bool:
        nonlocal taken
        if not taken:  # a store that is slow: meanwhile the command writes its last words and ends
            os.write(sink, b"last")
            channel.expect_no_more()
        taken += data
        return True

    with anyio.fail_after(5):
        await channel.pump(take)
    os.close(sink)

    assert taken == b"first last"
