"""Partials of a foreign server: in order, gaps recorded, compared with the result."""

from __future__ import annotations

import logging
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from requirement import requirement

from streamres import Client, Limits

from .faulty import Cut, blocks, faulty, result, structured, text
from .scene import STREAMS, bridged, links

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from .faulty import Script

WHOLE = "one two three "


def saying(*answers: dict[str, Any]) -> Script:
    async def script(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        for answer in answers:
            yield answer

    return script


def base64(data: bytes) -> str:
    return b64encode(data).decode()


@requirement("SR-11.2.a")
@requirement("SR-11.2.c")
async def test_partials_out_of_order_and_twice_are_one_text_in_order() -> None:
    said = [text(0, "one "), text(2, "three "), text(2, "three "), text(0, "one "), text(1, "two ")]
    async with faulty(saying(*said, result(WHOLE))) as (_, url), bridged(url) as scene:
        called = await scene.caller.call("work", {}, STREAMS)

        assert called.result["content"][0] == {"type": "text", "text": WHOLE}
        found = links(called)
        assert set(found) == {"output", "report"}
        assert [found[name]["stream"]["state"] for name in ("output", "report")] == ["complete", "complete"]
        assert await scene.caller.whole(found["output"]["uri"]) == WHOLE
        assert await scene.report(found["report"]["uri"]) == {
            "outcome": "equal",
            "committed": 3,
            "missing": 0,
            "gaps": [],
            "repeats": 2,
            "late": 0,
            "refused": 0,
            "final": False,
        }


@requirement("SR-11.2.b")
async def test_a_gap_is_recorded_when_the_window_is_full_and_what_fills_it_then_is_late() -> None:
    said = [text(0, "one "), text(2, "three "), text(3, "four "), text(4, "five "), text(1, "two ")]
    limits = Limits(gap_partials=2, gap_s=3_600)
    async with faulty(saying(*said, result(WHOLE))) as (_, url), bridged(url, limits=limits) as scene:
        found = links(await scene.caller.call("work", {}, STREAMS))

        assert await scene.caller.whole(found["output"]["uri"]) == "one three four five "
        report = await scene.report(found["report"]["uri"])
        assert (report["gaps"], report["missing"], report["late"]) == ([[1, 1]], 1, 1)
        assert (report["committed"], report["outcome"]) == (4, "different")


@requirement("SR-11.2.b")
async def test_a_gap_is_recorded_when_it_was_waited_for_long_enough() -> None:
    go_on = anyio.Event()

    async def script(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        yield text(0, "one ")
        yield text(3, "four ")
        await go_on.wait()
        yield result(WHOLE)

    async with faulty(script) as (_, url), bridged(url, limits=Limits(gap_s=0.05)) as scene:
        params = {"name": "work", "arguments": {}}
        async with scene.caller.begin("tools/call", params, STREAMS) as (called, messages):
            uris = await scene.named(messages, "output", "report")
            await scene.until(uris["output"], "one four ")
            report = await scene.until_report(uris["report"], missing=2)
            assert (report["gaps"], report["outcome"]) == ([[1, 2]], None)
            go_on.set()
            async for _ in messages:
                pass
        assert called.result["content"][0]["text"] == WHOLE
        assert (await scene.report(uris["report"]))["outcome"] == "different"


ROWS = {"patch": [{"op": "replace", "path": "", "value": {"rows": []}}]}

ENDS: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str]] = {
    "the same in other blocks": ([text(0, "ab"), text(1, "c")], result("a", "bc"), "equal"),
    "the end never came": ([text(0, "ab")], result("abc"), "prefix"),
    "the end was said and is not it": ([text(0, "ab", final=True)], result("abc"), "prefix"),
    "more than the result": ([text(0, "abcd")], result("abc"), "different"),
    "other text": ([text(0, "abd")], result("abc"), "different"),
    "half a character": ([text(0, "a")], result("é"), "different"),
    "nothing in them": ([blocks(0)], result("abc"), "prefix"),
    "a beginning is missing": ([text(1, "bc")], result("abc"), "different"),
    "a patch": (
        [structured(0, ROWS), structured(1, {"patch": [{"op": "add", "path": "/rows/-", "value": 1}]})],
        result("rows", structuredContent={"rows": [1.0]}),
        "equal",
    ),
    "a patch that is missing": (
        [structured(0, ROWS)],
        result("rows", structuredContent={"rows": [1]}),
        "different",
    ),
    "content that grows": (
        [structured(0, {"rows": [1]}), structured(1, {"rows": [1, 2]})],
        result("rows", structuredContent={"rows": [1, 2]}),
        "equal",
    ),
    "content bit by bit": (
        [structured(0, {"row": 1}), structured(1, {"row": 2})],
        result("rows", structuredContent={"rows": [1, 2]}),
        "different",
    ),
    "a text alone of text and more": ([text(0, "a")], result("a", structuredContent={"a": 1}), "equal"),
    "a text and a document that is another": (
        [text(0, "a"), structured(1, {"a": 2})],
        result("a", structuredContent={"a": 1}),
        "different",
    ),
}


@requirement("SR-11.2.c")
@pytest.mark.parametrize(("said", "final", "outcome"), ENDS.values(), ids=ENDS)
async def test_the_result_is_compared_with_what_was_assembled(
    said: list[dict[str, Any]], final: dict[str, Any], outcome: str
) -> None:
    async with faulty(saying(*said, final)) as (_, url), bridged(url) as scene:
        called = await scene.caller.call("work", {}, STREAMS)

        assert (await scene.report(links(called)["report"]["uri"]))["outcome"] == outcome
        own = [block for block in called.result["content"] if block["type"] != "resource_link"]
        assert own == final["result"]["content"]
        assert called.result.get("structuredContent") == final["result"].get("structuredContent")


@requirement("SR-11.2.a")
async def test_structured_content_that_is_no_patch_of_ours_is_kept_as_a_list() -> None:
    said = [structured(0, {"rowsProcessed": 1}), structured(1, {"rowsProcessed": 2}), structured(2, {"patch": []})]
    async with faulty(saying(*said, result("done"))) as (_, url), bridged(url) as scene:
        found = links(await scene.caller.call("work", {}, STREAMS))

        assert await scene.document(found["structured"]["uri"]) == [
            {"rowsProcessed": 1},
            {"rowsProcessed": 2},
            {"patch": []},
        ]


@requirement("SR-11.2.a")
@requirement("SR-11.2.c")
async def test_bytes_are_outputs_of_their_own_kind_and_images_replace_each_other() -> None:
    def image(data: bytes) -> dict[str, Any]:
        return {"type": "image", "data": base64(data), "mimeType": "image/png"}

    def sound(data: bytes) -> dict[str, Any]:
        return {"type": "audio", "data": base64(data), "mimeType": "audio/wav"}

    def surface(said: str) -> dict[str, Any]:
        resource = {"uri": "ui://surface", "mimeType": "application/a2ui+json", "text": said}
        return {"type": "resource", "resource": resource}

    said = [
        blocks(0, image(b"\x89rough"), sound(b"RI"), surface("{}\n")),
        blocks(1, image(b"\x89fine"), sound(b"FF"), surface("[]\n")),
    ]
    final = [image(b"\x89fine"), sound(b"RIFF"), surface("{}\n[]\n")]
    answer = {"result": {"resultType": "complete", "content": final}}
    async with faulty(saying(*said, answer)) as (_, url), bridged(url) as scene:
        called = await scene.caller.call("work", {}, STREAMS)

        found = {link["mimeType"]: link["uri"] for link in links(called).values()}
        picture = (await scene.caller.read(found["image/png"]))["contents"][0]
        assert picture["blob"] == base64(b"\x89fine")
        assert (await scene.caller.read(found["audio/wav"]))["contents"][0]["blob"] == base64(b"RIFF")
        assert await scene.caller.whole(found["application/a2ui+json"]) == "{}\n[]\n"
        assert (await scene.report(found["application/json"]))["outcome"] == "equal"


@requirement("SR-11.2.b")
async def test_what_cannot_be_kept_is_counted_and_the_rest_goes_on() -> None:
    broken = {"type": "image", "data": "*", "mimeType": "image/png"}
    said = [
        text(0, "one "),
        blocks(1, broken),
        {"partial": {"seq": "2", "content": []}},
        text(2, "two "),
        structured(3, {"patch": [{"op": "replace", "path": "", "value": {}}]}),
        structured(4, {"patch": [{"op": "remove", "path": "/nowhere"}]}),
        text(5, "three "),
    ]
    async with faulty(saying(*said, result(WHOLE))) as (_, url), bridged(url) as scene:
        found = links(await scene.caller.call("work", {}, STREAMS))

        assert await scene.caller.whole(found["output"]["uri"]) == WHOLE
        assert await scene.document(found["structured"]["uri"]) == {}
        report = await scene.report(found["report"]["uri"])
        assert (report["refused"], report["committed"], report["missing"]) == (2, 4, 0)


@requirement("SR-12.3.b")
@requirement("SR-11.2.c")
async def test_a_flood_ends_what_is_kept_and_not_the_call() -> None:
    said = [text(seq, "x" * 1_000) for seq in range(20)]
    limits = Limits(output_bytes=5_500)
    async with faulty(saying(*said, result("x" * 20_000))) as (_, url), bridged(url, limits=limits) as scene:
        called = await scene.caller.call("work", {}, STREAMS)

        assert len(called.text) == 20_000
        found = links(called)
        assert len(await scene.caller.whole(found["output"]["uri"])) == 5_000
        report = await scene.report(found["report"]["uri"])
        assert (report["stopped"], report["outcome"], report["committed"]) == ("output_bytes", "prefix", 5)


@requirement("SR-11.2.b")
async def test_a_cut_ends_the_call_with_an_error_and_the_output_aborted_with_what_it_had(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL, "uvicorn.error")  # the peer's own words about its cut

    async def script(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        yield text(0, "one ")
        yield text(2, "three ")
        raise Cut

    async with faulty(script) as (_, url), bridged(url, limits=Limits(gap_s=3_600)) as scene:
        params = {"name": "work", "arguments": {}}
        async with scene.caller.begin("tools/call", params, STREAMS) as (called, messages):
            uris = await scene.named(messages, "output", "report")
            async for _ in messages:
                pass

        assert called.error["code"] == -32603
        assert called.error["data"] == {"reason": "upstream"}
        read = await scene.caller.read(uris["output"])
        assert (read["contents"][0]["text"], read["state"]) == ("one three ", "aborted")
        report = await scene.report(uris["report"])
        assert (report["outcome"], report["gaps"]) == (None, [[1, 1]])


async def test_a_caller_that_goes_cancels_the_call_behind_the_bridge() -> None:
    async def script(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        yield text(0, "one ")
        await anyio.sleep_forever()

    async with faulty(script) as (upstream, url), bridged(url) as scene:
        params = {"name": "work", "arguments": {}}
        async with scene.caller.begin("tools/call", params, STREAMS) as (_, messages):
            uris = await scene.named(messages, "output")
            await scene.until(uris["output"], "one ")
        await upstream.gone.wait()
        with scene.server.store.watch([uris["output"]]) as watch:
            while (read := await scene.caller.read(uris["output"]))["state"] == "open":
                await watch.wait()
                watch.take()
        assert (read["contents"][0]["text"], read["state"]) == ("one ", "aborted")


@requirement("SR-11.2.a")
@requirement("SR-7.1.b")
async def test_many_watchers_and_late_joiners_get_all_of_it() -> None:
    go_on = [anyio.Event() for _ in range(3)]

    async def script(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        yield text(0, "one ")
        for seq, said in enumerate(("two ", "three ")):
            await go_on[seq].wait()
            yield text(seq + 1, said)
        await go_on[2].wait()
        yield result(WHOLE)

    seen: list[str] = []

    async def watch(url: str, uri: str) -> None:
        async with Client(url) as client:
            seen.append("".join([update.text async for update in client.follow(uri)]))

    async with faulty(script) as (_, url), bridged(url) as scene:
        params = {"name": "work", "arguments": {}}
        async with scene.caller.begin("tools/call", params, STREAMS) as (_, messages):
            uris = await scene.named(messages, "output")
            async with anyio.create_task_group() as watchers:
                for step in go_on:
                    for _ in range(5):
                        watchers.start_soon(watch, scene.caller.url, uris["output"])
                    step.set()
                async for _ in messages:
                    pass
                for _ in range(5):
                    watchers.start_soon(watch, scene.caller.url, uris["output"])
    assert seen == [WHOLE] * 20


@requirement("SR-10.1")
async def test_a_call_without_a_partial_leaves_nothing_and_is_answered_as_it_was() -> None:
    answer = result("done", _meta={"made.by/it": 1}, structuredContent={"a": 1})
    async with faulty(saying(answer)) as (upstream, url), bridged(url) as scene:
        called = await scene.caller.call("work", {"a": "é"})

        meta = called.result.pop("_meta")
        assert called.result == {name: value for name, value in answer["result"].items() if name != "_meta"}
        assert meta["made.by/it"] == 1
        assert await scene.server.store.list(limit=10) == []
        (asked,) = upstream.asked
        assert asked["arguments"] == {"a": "é"}
        assert asked["_meta"]["io.modelcontextprotocol/clientCapabilities"]["partialResults"] == {}
