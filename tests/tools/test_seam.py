"""The seam between partials, a task and its resource: every byte once, whatever is cut when.

A burst of lines goes to a client that takes partials; at a random moment the call becomes a task, and at another
the connection is cut. The client goes on from the last cursor that it has. `STREAMRES_SEAMS` is how often.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import anyio
import pytest
from requirement import requirement

from streamres import Server
from streamres.tools import Context

from .caller import TAKES_PARTIALS, TAKES_TASKS, both, calling, stream_of, streams

if TYPE_CHECKING:
    from .caller import Caller

SEAMS = int(os.environ.get("STREAMRES_SEAMS", "12"))
LINES = int(os.environ.get("STREAMRES_SEAM_LINES", "10000"))
SEED = int(os.environ.get("STREAMRES_SEED", "0")) or random.randrange(2**32)


def bursting() -> Server:
    server = Server("test")

    @server.tool()
    async def burst(context: Context, lines: int, hand_over_at: int, seed: int) -> str:
        pauses = random.Random(seed)
        log = await context.text(uri=f"burst://{seed}")
        for number in range(lines):
            if number == hand_over_at:
                await context.become_task()
            await log.append(f"{number} é{'x' * pauses.randrange(40)}\n")
            if pauses.random() < 0.002:
                await anyio.sleep(0)
        return str(lines)

    return server


async def until_sealed(caller: Caller, uri: str, text: str, cursor: str | None) -> str:
    """Reads on from a cursor to the seal."""
    while True:
        read = await caller.read(uri, cursor)
        assert "reset" not in read
        text += read["delta"]["text"] if "delta" in read else read["contents"][0]["text"]
        cursor = read["cursor"]
        if read["state"] != "open":
            assert read["state"] == "complete"
            return text


@requirement("SR-11.1.d")
@requirement("SR-8.2")
@pytest.mark.parametrize("number", range(SEAMS))
async def test_no_byte_is_lost_or_told_twice(number: int) -> None:
    rng = random.Random(SEED + number)
    seed, lines = rng.randrange(2**32), LINES
    hand_over_at = rng.choice([rng.randrange(lines), rng.randrange(lines), rng.randrange(100), lines + 1])
    cut_at = rng.choice([None, rng.randrange(3), rng.randrange(40)])
    can = both(TAKES_PARTIALS, streams(), *([TAKES_TASKS] if hand_over_at <= lines else []))
    arguments = {"lines": lines, "hand_over_at": hand_over_at, "seed": seed}
    told, cursor = "", None
    task = None
    uri = f"burst://{seed}"
    async with calling(bursting()) as caller:
        with anyio.fail_after(60):
            params = {"name": "burst", "arguments": arguments}
            async with caller.begin("tools/call", params, can, {"partialResultToken": 1}) as (called, messages):
                async for message in messages:
                    if "result" in message:
                        task = message["result"].get("taskId")
                        break
                    if message["method"].endswith("partial_result"):
                        told += "".join(block["text"] for block in message["params"]["content"])
                        cursor = stream_of(message["params"])["cursor"]
                    if cut_at is not None and len(called.partials) > cut_at:
                        break
            if task is None and "result" not in called.messages[-1]:
                # The cut cancelled a plain call, or hid the id of a task: what it had is there, told or not.
                assert (await caller.whole(uri)).startswith(told)
                return
            text = await until_sealed(caller, uri, told, cursor)
        pauses = random.Random(seed)
        expected = ""
        for line in range(lines):
            expected += f"{line} é{'x' * pauses.randrange(40)}\n"
            pauses.random()
        assert text == expected, f"seed {SEED}"
        if task is not None:
            assert (await caller.until(task, "completed"))["result"]["content"][0]["text"] == str(lines)
