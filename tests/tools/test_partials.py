"""SEP-2998 partials of a call's outputs (SR-11.1, SR-11.3)."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import anyio
import jsonpatch
import pytest
from requirement import requirement

from streamres import Limits, Server
from streamres.tools import Context

from .caller import TAKES_PARTIALS, Called, calling, stream_of, streams

TOKEN = {"partialResultToken": "prt"}


def in_order(called: Called) -> list[dict[str, Any]]:
    partials = called.partials
    assert [partial["seq"] for partial in partials] == list(range(len(partials)))
    assert {partial["partialResultToken"] for partial in partials} <= {"prt"}
    return partials


@requirement("SR-11.1.a")
@requirement("SR-11.1.b")
@requirement("SR-11.1.c")
@requirement("SR-11.1.d")
async def test_each_kind_of_output_is_told_in_its_form_and_folds_to_its_content() -> None:
    server = Server("test")

    @server.tool()
    async def work(context: Context) -> str:
        text, blob = await context.text("text"), await context.blob("blob", mime_type="image/png")
        plan = await context.json("plan", {"steps": []})
        for number in range(20):
            await text.append(f"é {number}\n")
            await blob.append(bytes([number, 255]))
            await plan.patch([{"op": "add", "path": "/steps/-", "value": number}])
            if number % 3 == 0:
                await anyio.sleep(0)
        return "done"

    async with calling(server) as caller:
        called = await caller.call("work", {}, TAKES_PARTIALS, TOKEN)

        partials = in_order(called)
        text, blob, plan = "", b"", None
        for partial in partials:
            for block in partial["content"]:
                text += block.get("text", "")
                blob += b64decode(block.get("resource", {}).get("blob", ""))
            if "structuredContent" in partial:
                plan = jsonpatch.apply_patch(plan, partial["structuredContent"]["patch"])
        assert text == "".join(f"é {number}\n" for number in range(20))
        assert blob == b"".join(bytes([number, 255]) for number in range(20))
        assert plan == {"steps": list(range(20))}
        assert [partial.get("final", False) for partial in partials] == [False] * (len(partials) - 1) + [True]
        _, *links = called.result["content"]
        for link in links:
            last = [stream_of(partial) for partial in partials if stream_of(partial)["uri"] == link["uri"]][-1]
            assert last["state"] == "complete"
            rest = await caller.read(link["uri"], last["cursor"])
            assert rest["delta"].get("text", rest["delta"].get("blob", "")) == ""
            assert rest["delta"].get("patch", []) == []


@requirement("SR-11.3")
@pytest.mark.parametrize(
    ("capabilities", "meta"),
    [({}, TOKEN), (TAKES_PARTIALS, {}), (streams(), TOKEN), (streams(partialResults=False), TOKEN)],
)
async def test_without_the_capability_and_a_token_there_are_none(
    capabilities: dict[str, Any], meta: dict[str, Any]
) -> None:
    server = Server("test")

    @server.tool()
    async def work(context: Context) -> str:
        log = await context.text()
        await log.append("text")
        return "done"

    async with calling(server) as caller:
        assert (await caller.call("work", {}, capabilities, meta)).partials == []


@requirement("SR-11.3")
async def test_a_setting_of_the_extension_stands_for_the_capability() -> None:
    server = Server("test")

    @server.tool()
    async def work(context: Context) -> str:
        log = await context.text()
        await log.append("text")
        return "done"

    async with calling(server) as caller:
        called = await caller.call("work", {}, streams("meta", partialResults=True), {"partialResultToken": 7})

        assert called.partials[0]["content"] == [{"type": "text", "text": "text"}]


@requirement("SR-11.1.a")
@requirement("T3")
async def test_a_reader_that_is_slow_gets_merged_deltas_and_holds_up_nobody() -> None:
    server = Server("test", limits=Limits(notification_bytes=64 * 1024))
    written = anyio.Event()
    line = "x" * 99 + "\n"

    @server.tool()
    async def work(context: Context) -> str:
        log = await context.text()
        for _ in range(200_000):
            await log.append(line)
        written.set()
        return "done"

    async with calling(server) as caller:
        with anyio.fail_after(60):
            params = {"name": "work", "arguments": {}}
            async with caller.begin("tools/call", params, TAKES_PARTIALS, TOKEN) as (called, messages):
                await written.wait()  # nothing was read from the socket so far
                async for _ in messages:
                    pass
        partials = in_order(called)
        assert sum(len(block["text"]) for partial in partials for block in partial["content"]) == 20_000_000
        assert len(partials) < 2_000
        assert max(len(json.dumps(partial)) for partial in partials) < 200_000
        assert partials[-1]["final"] is True


@requirement("SR-11.1.c")
async def test_a_call_that_fails_ends_its_partials_too() -> None:
    server = Server("test")

    @server.tool()
    async def work(context: Context) -> str:
        log = await context.text()
        await log.append("so far")
        raise ValueError("broken")

    async with calling(server) as caller:
        called = await caller.call("work", {}, TAKES_PARTIALS, TOKEN)

        last = in_order(called)[-1]
        assert (last["final"], stream_of(last)["state"]) == (True, "aborted")
        assert called.result["isError"] is True


async def test_progress_and_partials_come_on_one_stream() -> None:
    server = Server("test")

    @server.tool()
    async def work(context: Context) -> str:
        log = await context.text()
        for number in range(3):
            await log.append(f"{number}")
            await context.progress(number, 3, f"step {number}")
        return "done"

    async with calling(server) as caller:
        called = await caller.call("work", {}, TAKES_PARTIALS, {**TOKEN, "progressToken": "prg"})

        assert called.heard("notifications/progress") == [
            {"progressToken": "prg", "progress": number, "total": 3, "message": f"step {number}"}
            for number in range(3)
        ]
        assert "".join(block["text"] for partial in in_order(called) for block in partial["content"]) == "012"
