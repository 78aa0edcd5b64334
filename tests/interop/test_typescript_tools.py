"""The official TypeScript clients, unchanged, call tools; ext-tasks drives a task.

The clients are those of `test_typescript.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
from requirement import requirement
from server.wire import STREAM

from streamres import Client

from .tool_site import LINES, site
from .typescript_client import Program, ProgramOf


async def until_result(program: Program) -> list[tuple[str, Any]]:
    """What it says up to the result of its call, by name."""
    said: list[tuple[str, Any]] = []
    while not said or said[-1][0] != "result":
        said += (await program.line()).items()
    return said


def named(said: list[tuple[str, Any]], name: str) -> list[Any]:
    return [value for key, value in said if key == name]


@requirement("SR-10.1")
@requirement("SR-8.3")
@pytest.mark.parametrize("client", ["auto", "default", "sdk1"])
async def test_it_lists_tools_and_hears_progress_while_one_works(program: ProgramOf, client: str) -> None:
    async with site() as (made, url), program("call", client, url) as running:
        tools = {tool["name"]: tool for tool in (await running.line())["tools"]}
        first = await running.go()
        while "progress" not in first:
            first = await running.line()
        made.go_on.set()  # only now can the tool end
        said = await until_result(running)
        await running.end()

    assert tools["build"]["annotations"] == {}  # `streamingHint` of SEP-2998 is dropped
    assert tools["add"]["inputSchema"]["required"] == ["a"]
    assert first["progress"] == {"progress": 1, "total": 2, "message": "compiling"}
    assert named(said, "progress") == [{"progress": 2, "total": 2, "message": "linking"}]
    text, link = named(said, "result")[0]["content"]
    assert (text["text"], link["type"], "_meta" in link) == ("built", "resource_link", False)


@requirement("SR-11.1")
@requirement("SR-11.3")
@requirement("SR-8.2")
@pytest.mark.parametrize("binding", ["fields", "meta"])
async def test_by_notification_handlers_it_hears_the_output_and_its_partials(
    program: ProgramOf, binding: str
) -> None:
    async with site() as (made, url), program("call", "auto", url, binding, "partials") as running:
        await running.line()
        said = list((await running.go()).items())
        while not named(said, "partial_result"):
            said += (await running.line()).items()
        made.go_on.set()
        said += await until_result(running)
        await running.end()
        outputs = named(said, "outputs")[0]
        (output,) = outputs["outputs"] if binding == "fields" else outputs["_meta"][STREAM]["outputs"]
        partials = named(said, "partial_result")
        async with Client(url) as reader:
            missed = await reader.read(output["uri"], partials[0]["_meta"][STREAM]["cursor"])
            rest = await reader.read(output["uri"], partials[-1]["_meta"][STREAM]["cursor"])

    # Progress overtakes the others in the client, which validates those first.
    assert next(name for name, _ in said if name != "progress") == "outputs"
    assert [one["seq"] for one in partials] == list(range(len(partials)))
    assert [one.get("final", False) for one in partials] == [False] * (len(partials) - 1) + [True]
    texts = ["".join(block["text"] for block in one["content"]) for one in partials]
    assert (texts[0], "".join(texts)) == (LINES[0], "".join(LINES))
    assert (missed.text, rest.text, rest.state) == (LINES[1], "", "complete")
    assert named(said, "result")[0]["content"][1]["uri"] == output["uri"]


@requirement("SR-11.3")
@pytest.mark.parametrize(
    ("client", "takes", "heard"),
    [("auto", "none", {"outputs", "progress", "result"}), ("default", "partials", {"progress", "result"})],
    ids=["not declared", "declared in the older era"],
)
async def test_a_token_alone_gets_no_partials(
    program: ProgramOf, client: str, takes: str, heard: set[str]
) -> None:
    async with site() as (made, url), program("call", client, url, "meta", takes) as running:
        made.go_on.set()
        await running.line()
        said = [*(await running.go()).items(), *await until_result(running)]
        await running.end()

    assert {name for name, _ in said} == heard


@pytest.mark.parametrize("region", ["eu-west", " padded ", "Zürich"])
async def test_it_answers_what_a_tool_asks_and_repeats_an_argument_in_a_header(
    program: ProgramOf, region: str
) -> None:
    async with site() as (_, url), program("answer", "auto", url, "Zoé", region) as running:
        said = await running.line()
        await running.end()

    assert said["asked"] == ["Who is there?"]
    assert said["greeting"]["content"] == [{"type": "text", "text": "Hello, Zoé!"}]
    assert said["place"]["content"] == [{"type": "text", "text": f"in {region}"}]


@requirement("SR-8.2")
@requirement("SR-8.3")
async def test_ext_tasks_drives_a_task_to_its_end(program: ProgramOf) -> None:
    tasks: list[dict[str, Any]] = []
    async with site() as (_, url), program("task", url, "Zoé") as running:
        while "task" in (said := await running.line()):
            tasks.append(said["task"]["raw"])
        await running.end()
        (uri,) = {output["uri"] for task in tasks for output in task["_meta"][STREAM]["outputs"]}
        async with Client(url) as reader:
            log = await reader.read(uri)

    assert (tasks[0]["status"], "input_required" in [task["status"] for task in tasks]) == ("working", True)
    outcome = said["outcome"]
    assert outcome["status"] == "completed"
    text, link = outcome["result"]["content"]
    assert (text["text"], link["uri"]) == ("deployed by Zoé", uri)
    assert (log.text, log.state) == ("".join(LINES), "complete")
