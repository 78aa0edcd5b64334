"""The client over stdio: a real child process, well behaved or not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from requirement import requirement

from streamres import Client, ConnectionLost, ProtocolError, Timeouts
from streamres.client import CallResult, Partial, stdio

if TYPE_CHECKING:
    from streamres.client import Progress

SERVER = [sys.executable, str(Path(__file__).with_name("tool_server.py"))]


def script(*lines: str) -> list[str]:
    """A server that is a few lines of Python; `ask()` is the next request, `say(message)` writes one."""
    begin = (
        "import json, sys",
        "def ask():",
        "    line = sys.stdin.readline()",
        "    return json.loads(line) if line else sys.exit()",
        "def say(**message):",
        "    print(json.dumps({'jsonrpc': '2.0', **message}), flush=True)",
    )
    return [sys.executable, "-c", "\n".join((*begin, *lines))]


INITIALIZE = (
    "say(id=ask()['id'], error={'code': -32601, 'message': 'unknown method'})",
    "asked = ask()",
    "assert asked['method'] == 'initialize'",
    "capabilities = {'tools': {'listChanged': True}}",
    "say(id=asked['id'], result={'protocolVersion': '2025-06-18', 'capabilities': capabilities})",
    "assert ask()['method'] == 'notifications/initialized'",
)


async def test_many_calls_share_the_channel_and_each_hears_its_own() -> None:
    heard: dict[str, list[str]] = {}

    async def call(client: Client, name: str) -> None:
        heard[name] = []
        text: list[str] = []

        async def progress(progress: Progress) -> None:
            heard[name].append(str(progress.message))

        async def partial(partial: Partial) -> None:
            text.extend(block["text"] for block in partial.content)

        arguments = {"name": name, "times": 20}
        called = await client.call_tool("say", arguments, on_progress=progress, on_partial=partial)
        assert isinstance(called, CallResult)
        assert called.text == name
        assert "".join(text) == "".join(f"{name} {number}\n" for number in range(20))

    with anyio.fail_after(20):
        async with Client(SERVER) as client, anyio.create_task_group() as calls:
            for number in range(20):
                calls.start_soon(call, client, f"caller-{number}")
    assert all(said == [name] * 20 for name, said in heard.items())


@requirement("T1")
async def test_a_call_that_is_cancelled_here_is_cancelled_there() -> None:
    with anyio.fail_after(20):
        async with Client(SERVER) as client:
            await client.list_tools()
            with anyio.move_on_after(0.2):
                await client.call_tool("wait")
            called = await client.call_tool("count_cancelled")
    assert isinstance(called, CallResult)
    assert called.text == "1"


async def test_resources_are_read_and_followed_over_it_too() -> None:
    with anyio.fail_after(20):
        async with Client(SERVER) as client:
            await client.call_tool("say", {"name": "a", "times": 2})
            (listed,) = await client.list()
            assert "".join([update.text async for update in client.follow(listed.uri)]) == "a 0\na 1\n"


async def test_what_is_no_message_is_passed_over_and_what_the_server_asks_is_answered() -> None:
    server = script(
        *INITIALIZE,
        "print('loading...\\n\\n[]\\n{\"a\": 1}', flush=True)",
        "say(id='p', method='ping')",
        "say(id='r', method='roots/list', params={})",
        "came = [ask() for _ in range(3)]",
        "(asked,) = [one for one in came if 'method' in one]",
        "came.remove(asked)",
        "say(id=999, result={})",
        "tool = {'name': 'a', 'inputSchema': {}, 'description': json.dumps(came)}",
        "say(id=asked['id'], result={'tools': [tool]})",
        "ask()",
    )
    with anyio.fail_after(20):
        async with Client(server) as client:
            (tool,) = await client.list_tools()
    pong, refused = json.loads(str(tool.description))
    assert pong == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert (refused["id"], refused["error"]["code"]) == ("r", -32601)


async def test_a_server_that_says_nothing_to_the_new_era_is_spoken_to_in_the_older(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stdio, "_PROBE_S", 0.2)
    server = script(
        "assert ask()['method'] == 'server/discover'",
        "assert ask()['method'] == 'notifications/cancelled'",
        *INITIALIZE[1:],
        "asked = ask()",
        "say(id=asked['id'], result={'tools': [{'name': asked['method'], 'inputSchema': {}}]})",
        "say(method='notifications/tools/list_changed')",
        "ask()",
    )
    with anyio.fail_after(20):
        async with Client(server) as client:
            changes = client.tool_changes()
            await anext(changes)
            assert [tool.name for tool in await client.list_tools()] == ["tools/list"]
            await anext(changes)
            await changes.aclose()  # type: ignore[attr-defined]


@requirement("T1")
async def test_a_server_that_ends_loses_what_was_asked_and_is_started_anew_by_the_next_request(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "died"
    server = script(
        "import os",
        *INITIALIZE,
        "asked = ask()",
        f"if not os.path.exists({str(mark)!r}):",
        f"    open({str(mark)!r}, 'w').close()",
        "    sys.exit(3)",
        "say(id=asked['id'], result={'tools': []})",
        "ask()",
    )
    with anyio.fail_after(20):
        async with Client(server) as client:
            with pytest.raises(ConnectionLost):
                await client.list_tools()
            assert await client.list_tools() == []


async def test_a_server_that_does_not_end_by_itself_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_PARTING_S", 0.2)
    server = script(
        "import signal, time",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "say(id=ask()['id'], result={'supportedVersions': ['2026-07-28'], 'capabilities': {}})",
        "while True:",
        "    time.sleep(1)",
    )
    with anyio.fail_after(20):
        async with Client(server) as client:
            await client._connection.settle()
            process: Any = client._connection._process  # type: ignore[union-attr]
    assert process.returncode == -9


async def test_a_server_that_gives_no_answer_in_time_is_lost() -> None:
    server = script("ask()", "ask()", "ask()")
    with anyio.fail_after(20):
        async with Client(server, timeouts=Timeouts(answer_s=0.2)) as client:
            with pytest.raises(ConnectionLost, match="in time"):
                await client.discover()


async def test_a_server_that_speaks_an_unknown_version_is_refused() -> None:
    server = script(
        "say(id=ask()['id'], error={'code': -32601, 'message': 'no'})",
        "say(id=ask()['id'], result={'protocolVersion': '2030-01-01', 'capabilities': {}})",
        "ask()",
    )
    with anyio.fail_after(20):
        async with Client(server) as client:
            with pytest.raises(ProtocolError, match="2030-01-01"):
                await client.list_tools()
