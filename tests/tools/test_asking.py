"""A tool that asks its caller: in rounds of plain calls, and in a task."""

from __future__ import annotations

from typing import Any

import pytest

from streamres import Server
from streamres.tools import Context, Elicit, Roots, Sample

from .caller import ELICITS, TAKES_TASKS, both, calling

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def accepted(name: str) -> dict[str, Any]:
    return {"action": "accept", "content": {"name": name}}


def asking() -> Server:
    server = Server("test", secret=b"of all replicas")

    @server.tool()
    async def names(context: Context, count: int = 2) -> str:
        found = []
        for number in range(count):
            answer = await context.ask(f"name-{number}", Elicit(message=f"Name {number}?", schema=NAME))
            found.append(answer["content"]["name"] if answer["action"] == "accept" else "-")
        return " ".join(found)

    return server


async def test_each_round_asks_for_what_is_missing_and_the_state_keeps_what_was_said() -> None:
    async with calling(asking()) as caller:
        first = (await caller.call("names", {}, ELICITS)).result
        assert first["resultType"] == "input_required"
        assert first["inputRequests"] == {
            "name-0": {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": "Name 0?", "requestedSchema": NAME},
            }
        }
        said = {"inputResponses": {"name-0": accepted("Bo"), "other": 1}, "requestState": first["requestState"]}
        second = (await caller.call("names", {}, ELICITS, **said)).result
        assert list(second["inputRequests"]) == ["name-1"]
        assert second["requestState"] != first["requestState"]
        said = {"inputResponses": {"name-1": {"action": "decline"}}, "requestState": second["requestState"]}

        async with calling(asking()) as replica:  # nothing is kept in the server
            assert (await replica.call("names", {}, ELICITS, **said)).text == "Bo -"


@pytest.mark.parametrize("response", [None, 12345, {}, {"action": "accept"}, {"action": "accept", "content": {}}])
async def test_a_response_that_is_none_is_asked_for_again(response: object) -> None:
    async with calling(asking()) as caller:
        called = await caller.call("names", {}, ELICITS, inputResponses={"name-0": response})

        assert list(called.result["inputRequests"]) == ["name-0"]


async def test_a_state_that_was_not_given_for_this_call_is_refused() -> None:
    async with calling(asking()) as caller:
        state = (await caller.call("names", {}, ELICITS)).result["requestState"]

        for wrong in (
            state + "AAAA",
            state[:-8],
            "é",
            "",
            "AAAA" * 20,
            state[:-5] + ("A" if state[-5] != "A" else "B") + state[-4:],
        ):
            called = await caller.call("names", {}, ELICITS, requestState=wrong)
            assert called.error["data"]["reason"] == "request_state", wrong
        assert (await caller.call("names", {"count": 3}, ELICITS, requestState=state)).error["code"] == -32602
        assert "result" in (await caller.call("names", {}, ELICITS, requestState=state)).messages[-1]


async def test_what_a_client_cannot_be_asked_is_not_asked() -> None:
    server = asking()

    @server.tool()
    async def capital(context: Context) -> str:
        questions = {"q": Sample(prompt="Capital of France?", max_tokens=10), "r": Roots()}
        if "elicitation" in context.capabilities:
            questions["n"] = Elicit(message="Name?", schema=NAME)
        answers = await context.ask_all(questions)
        return str(answers["q"]["content"]["text"]) + str(len(answers["r"]["roots"]))

    async with calling(server) as caller:
        refused = await caller.call("names")
        assert (refused.status, refused.error["code"]) == (400, -32021)
        assert refused.error["data"] == {"requiredCapabilities": {"elicitation": {}}}

        can = {"sampling": {}, "roots": {}}
        asked = (await caller.call("capital", {}, can)).result["inputRequests"]
        assert {key: value["method"] for key, value in asked.items()} == {
            "q": "sampling/createMessage",
            "r": "roots/list",
        }
        said = {
            "q": {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"},
            "r": {"roots": []},
        }
        assert (await caller.call("capital", {}, can, inputResponses=said)).text == "Paris0"


async def test_a_task_asks_through_its_record_and_waits() -> None:
    server = Server("test")

    @server.tool(task_after_s=0)
    async def names(context: Context) -> str:
        both = await context.ask_all({key: Elicit(message=f"{key}?", schema=NAME) for key in ("first", "last")})
        third = await context.ask("third", Elicit(message="third?", schema=NAME))
        return " ".join(answer["content"]["name"] for answer in (*both.values(), third))

    async with calling(server) as caller:
        can = both(ELICITS, TAKES_TASKS)
        task_id = (await caller.call("names", {}, can)).result["taskId"]
        task = await caller.until(task_id, "input_required")
        assert list(task["inputRequests"]) == ["first", "last"]

        said = {"taskId": task_id, "inputResponses": {"last": accepted("L"), "nobody": 1, "first": 2}}
        assert set((await caller.ask("tasks/update", said, can)).result) == {"resultType", "_meta"}
        while list((task := await caller.task(task_id))["inputRequests"]) != ["first"]:
            pass
        assert task["status"] == "input_required"
        again = {"taskId": task_id, "inputResponses": {"last": accepted("other"), "first": accepted("F")}}
        await caller.ask("tasks/update", again, can)
        while list((await caller.task(task_id)).get("inputRequests", ())) != ["third"]:
            pass
        await caller.ask("tasks/update", {"taskId": task_id, "inputResponses": {"third": accepted("T")}}, can)

        done = await caller.until(task_id, "completed")
        assert done["result"]["content"][0]["text"] == "F L T"


async def test_a_question_is_asked_first_and_the_call_becomes_a_task_after_it() -> None:
    server = Server("test")

    @server.tool()
    async def name(context: Context) -> str:
        answer = await context.ask("name", Elicit(message="Name?", schema=NAME))
        await context.become_task()
        return f"done for {answer['content']['name']}"

    async with calling(server) as caller:
        can = both(ELICITS, TAKES_TASKS)
        first = (await caller.call("name", {}, can)).result
        said = {"inputResponses": {"name": accepted("Bo")}, "requestState": first["requestState"]}
        task = (await caller.call("name", {}, can, **said)).result
        assert task["resultType"] == "task"
        assert (await caller.until(task["taskId"], "completed"))["result"]["content"][0]["text"] == "done for Bo"
        assert (await caller.call("name", {}, ELICITS, **said)).text == "done for Bo"
