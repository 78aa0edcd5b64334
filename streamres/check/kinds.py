"""Section 2: the kinds of content and the form of their deltas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streamres.check.answers import reading_of
from streamres.check.bench import demand_at, demand_equal
from streamres.check.binding import place
from streamres.check.content import fold, told
from streamres.check.exchange import short
from streamres.check.finding import NotOffered, NotTested, demand
from streamres.check.registry import clause

if TYPE_CHECKING:
    from streamres.check.bench import Bench

_REPLACEMENT = "\ufffd".encode()
_WALK: Final = 400
"""Most steps of a walk."""

_INEXACT: Final = (
    str(2**70),
    str(-(2**64) - 1),
    "0.1000000000000000055511151231257827021181583404541015625",
    "12345678901234567890.5",
    "1e400",
    "NaN",
    "-Infinity",
    '{"name":1,"name":2}',
    r'"\ud800"',
)
"""JSON that two parsers read in two ways, as it stands without spaces."""


@clause("SR-2.1.a", kinds=("text",))
async def a_text_delta_ends_between_code_points(bench: Bench) -> None:
    history = await bench.history()
    whole = history.head.content
    for size in (1, 2, 3):
        point = history.points[0]
        for _ in range(_WALK):
            if point.cursor == history.head.cursor:
                break
            before, point = point, await bench.step(history.uri, point, maxBytes=size)
            added = point.content[len(before.content) :]
            # Half a code point cannot stand in JSON: it comes as U+FFFD where the whole has none.
            got = f"with maxBytes {size} the delta is {told('text', added)}"
            holds = whole.startswith(point.content) or _REPLACEMENT not in added
            demand(holds, got, exchange=point.reading.exchange)
            if not point.reading.more:
                break


@clause("SR-2.1.b", bindings=("fields",), kinds=("text",))
async def bytes_that_are_not_utf8_become_replacement_characters(bench: Bench) -> None:
    uploads = bench.stage.writer.uploads
    uri = bench.stage.new_uri()
    exchange = await uploads.send(uri, "text", b"a\xffb\n")
    if exchange.status != 200:
        raise NotTested(f"the upload takes no such bytes: {short(exchange.got)}")
    demand_equal(bench, (await bench.snapshot(uri)).content, "a\ufffdb\n".encode(), "after the bytes a FF b")


@clause("SR-2.1.c", bindings=("fields",), kinds=("text",))
async def a_sequence_that_is_cut_is_not_shown_before_it_is_whole(bench: Bench) -> None:
    uploads = bench.stage.writer.uploads
    history = await bench.fresh(1)
    before = history.head
    euro = "€".encode()
    exchange = await uploads.send(history.uri, "text", euro[:2])
    demand_equal(bench, (await bench.snapshot(history.uri)).content, before.content, "after two bytes of three")
    if exchange.status == 200:
        await uploads.send(history.uri, "text", euro[2:])
        expected = before.content + euro
        demand_equal(bench, (await bench.snapshot(history.uri)).content, expected, "after the third byte")
        before = await bench.snapshot(history.uri)
    exchange = await uploads.send(history.uri, "text", euro[:2], seal="complete")
    if exchange.status != 200:
        raise NotTested(f"the upload takes no cut sequence: {short(exchange.got)}")
    sealed = await bench.snapshot(history.uri)
    rest = sealed.content.removeprefix(before.content).decode()
    got = f"a sequence cut by the seal became {rest!r}"
    demand(sealed.content.startswith(before.content) and set(rest) == {"\ufffd"}, got)


@clause("SR-2.2", kinds=("blob",))
async def a_blob_delta_is_base64_of_the_bytes(bench: Bench) -> None:
    history = await bench.history()
    point = await bench.catch_up(history.uri, history.points[0])
    demand_at(bench, history, point, "the bytes after the delta")


@clause("SR-2.3.a", kinds=("json",))
async def a_json_delta_is_a_patch_that_applies(bench: Bench) -> None:
    history = await bench.history()
    for point in history.points:
        after = await bench.read(history.uri, since=point.cursor)
        if after.is_delta:
            folded = await bench.step(history.uri, point)
            demand_at(bench, history, folded, "the value after the patch")


@clause("SR-2.3.b", bindings=("fields",), kinds=("json",))
async def a_patch_that_cannot_be_applied_is_refused_and_changes_nothing(bench: Bench) -> None:
    uploads = bench.stage.writer.uploads
    history = await bench.fresh(2)
    for patch in (
        b'[{"op":"add","path":"/items/-","value":1},{"op":"remove","path":"/not there"}]',
        b'[{"op":"replace","path":"/done","value":true},{"op":"test","path":"/done","value":false}]',
        b'[{"op":"no such operation","path":""}]',
        b'[{"op":"add","path":"/items/-","value":1}',
    ):
        exchange = await uploads.send(history.uri, "json", patch)
        demand(exchange.status != 200, f"taken: {patch.decode()}", exchange=exchange)
        after = await bench.snapshot(history.uri)
        same = after.cursor == history.head.cursor and after.content == history.head.content
        demand(same, f"changed by {patch.decode()}: {told('json', after.content)}")


@clause("SR-2.3.c", bindings=("fields",), kinds=("json",))
async def a_json_value_is_kept_exactly_or_refused(bench: Bench) -> None:
    uploads = bench.stage.writer.uploads
    for literal in _INEXACT:
        history = await bench.fresh(1)
        patch = f'[{{"op":"add","path":"/value","value":{literal}}}]'.encode()
        exchange = await uploads.send(history.uri, "json", patch)
        answer = await bench.answer(history.uri)
        text = "".join(str(answer.result["contents"][0].get("text")).split())
        kept = literal in text
        taken = exchange.status == 200
        demand(kept or not taken, f"{literal} is taken, and became {short(text)}", exchange=answer.exchange)
        got = f"{literal} is refused, and changed the value to {short(text)}"
        demand(taken or '"value"' not in text, got, exchange=answer.exchange)


@clause("SR-2.4.b", "SR-5.5.c")
async def a_replacement_begins_an_epoch_and_is_no_delta(bench: Bench) -> None:
    history = await bench.fresh(3)
    await bench.stage.writer.replace(history.uri, bench.kind, _other_content(bench))
    for point in history.points:
        reading = await bench.read(history.uri, since=point.cursor)
        got = f"after a replacement, a {'delta' if reading.is_delta else 'snapshot'} with reset {reading.reset}"
        demand(reading.reset == "epoch", got)


@clause("SR-2.5.a", kinds=("json",))
async def append_operations_add_to_the_string(bench: Bench) -> None:
    history = await bench.fresh(5)
    first = history.points[0]
    declared = {**bench.declared, "patchOps": ["append"]}
    params = place(bench.binding, {"uri": history.uri}, {"since": first.cursor})
    answer = await bench.session.ask("resources/read", params, declared=declared)
    reading = reading_of(answer, bench.binding, bench.kind)
    if not reading.is_delta or not any(step["op"] == "append" for step in reading.step):
        raise NotOffered("the server sends no append operation to a client that declares it")
    folded = fold(bench.kind, first.content, reading.step, reading.exchange)
    demand_equal(bench, folded, history.head.content, "the value after it")


@clause("SR-2.5.b", kinds=("json",))
async def append_operations_go_only_to_a_client_that_asked(bench: Bench) -> None:
    history = await bench.fresh(5)
    first = history.points[0]
    reading = await bench.read(history.uri, since=first.cursor)
    if not reading.is_delta:
        demand(reading.reset == "smaller", f"a snapshot with reset {reading.reset}")
        return
    foreign = [step for step in reading.step if step["op"] == "append"]
    demand(not foreign, f"to a client that did not declare patchOps: {short(foreign)}")
    demand_at(bench, history, await bench.step(history.uri, first), "the value after it")


def _other_content(bench: Bench) -> bytes:
    return (
        b'{"other": "content"}' if bench.kind == "json" else "other content, longer than before: é\n".encode() * 9
    )
