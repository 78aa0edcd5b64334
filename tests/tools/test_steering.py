"""Steering: what a client says while a task works, what it had seen by then, and the output that answers it."""

from __future__ import annotations

import asyncio

import anyio
from requirement import requirement

from streamres import Server
from streamres.tools import Context, Elicit

from .caller import ELICITS, TAKES_PARTIALS, TAKES_TASKS, both, calling, stream_of, streams

WISH = {"type": "object", "properties": {"wish": {"type": "string"}}, "required": ["wish"]}
CAN = both(ELICITS, TAKES_TASKS, streams())


def writing(seen: list[str | None]) -> Server:
    server = Server("test")

    @server.tool(task_after_s=0)
    async def write(context: Context) -> str:
        """Writes, and goes on writing while it can be told what to write."""
        text = await context.text("text")
        for number in range(2):
            key = f"wish-{number}"
            asked = asyncio.create_task(context.ask(key, Elicit(message="What else?", schema=WISH)))
            await text.append(f"part {number}\n")
            answer = await asked
            seen.append(context.basis)
            await text.append(f"as you wish: {answer['content']['wish']}\n", cause=key)
        return "done"

    return server


@requirement("SR-8.4.a")
@requirement("SR-8.4.b")
async def test_output_names_the_message_that_led_to_it_and_the_tool_knows_what_its_sender_had_seen() -> None:
    seen: list[str | None] = []
    async with calling(writing(seen)) as caller:
        task = (await caller.call("write", {}, CAN)).result
        uri = task["outputs"][0]["uri"]
        cursors = []
        with anyio.fail_after(10):
            for number in range(2):
                while (await caller.task(task["taskId"])).get("inputRequests", {}).keys() != {f"wish-{number}"}:
                    pass
                while not (read := await caller.read(uri))["contents"][0]["text"].endswith(f"part {number}\n"):
                    pass
                cursors.append(read["cursor"])
                response = {"action": "accept", "content": {"wish": f"wish {number}"}}
                said = {
                    "taskId": task["taskId"],
                    "inputResponses": {f"wish-{number}": response},
                    "basis": read["cursor"],
                }
                assert "result" in (await caller.ask("tasks/update", said, CAN)).messages[0]
            await caller.until(task["taskId"], "completed")

        assert seen == cursors
        first = (await caller.read(uri, cursors[0]))["delta"]
        assert first["cause"] == ["wish-0", "wish-1"]
        second = (await caller.read(uri, cursors[1]))["delta"]
        assert (second["text"], second["cause"]) == ("as you wish: wish 1\n", ["wish-1"])


@requirement("SR-8.4.a")
async def test_a_partial_names_its_cause_too() -> None:
    server = Server("test")

    @server.tool()
    async def work(context: Context) -> str:
        plan = await context.json("plan", {"steps": []})
        await plan.patch([{"op": "add", "path": "/steps/-", "value": 1}], cause="call-7")
        return f"seen: {context.basis}"

    async with calling(server) as caller:
        token = {"partialResultToken": 1}
        called = await caller.call("work", {}, both(TAKES_PARTIALS, streams()), token, basis="c7")

        assert called.text == "seen: c7"
        causes = [stream_of(partial).get("cause") for partial in called.partials]
        assert causes.count(["call-7"]) <= 1  # merged into the first document it is none
        assert (await caller.call("work", {}, streams(), basis=7)).error["code"] == -32602
