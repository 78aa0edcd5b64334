"""The Inspector's command line, unchanged, in both eras: over HTTP, and over stdio to a server that it starts.

It connects anew at each command, so each is a client that comes late.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cli.program import live, python
from requirement import requirement
from server.wire import EXTENSION, NOWHERE, STREAM, URI, VERSION, serving

from .inspecting import Inspector, every_era, result

OLD_VERSION = "2025-11-25"
STDIO_SERVER = str(Path(__file__).with_name("stdio_server.py"))


def version(era: str) -> str:
    return OLD_VERSION if era == "legacy" else VERSION


@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
async def test_it_connects_and_shows_what_is_offered(inspector: Inspector, era: str) -> None:
    async with serving() as wire:
        shown = result(await inspector(era, "initialize", wire.url))

    assert shown["serverInfo"]["name"] == "tested"
    assert shown["protocolVersion"] == version(era)
    assert shown["capabilities"]["resources"]["subscribe"] is True
    assert (EXTENSION in shown["capabilities"].get("extensions", {})) == (era != "legacy")


@requirement("SR-10.1")
@requirement("SR-8.1.a")
@every_era
async def test_it_lists_resources_and_with_meta_where_each_stands(inspector: Inspector, era: str) -> None:
    async with serving() as wire:
        await wire.append("a")
        plain = result(await inspector(era, "resources/list", wire.url))
        meta = result(await inspector(era, "resources/list", "--metadata", f"{STREAM}={{}}", "--", wire.url))
        templates = result(await inspector(era, "resources/templates/list", wire.url))

    entry = {"uri": URI, "name": "log", "mimeType": "text/plain", "size": 1}
    stream = {"kind": "text", "state": "open", "revision": 1}
    assert plain["resources"] == [entry]
    assert meta["resources"] == [{**entry, "_meta": {STREAM: {"stream": stream}}}]
    assert templates["resourceTemplates"] == [
        {"uriTemplate": URI + "{?since,maxBytes}", "name": "log", "mimeType": "text/plain"}
    ]


@requirement("SR-10.4")
@requirement("SR-10.5")
@every_era
async def test_it_reads_whole_since_by_template_and_since_by_metadata(inspector: Inspector, era: str) -> None:
    async with serving() as wire:
        await wire.append("old ")
        (part,) = result(await inspector(era, "resources/read", "--uri", f"{URI}?maxBytes=4", wire.url))[
            "contents"
        ]
        since = part["_meta"][STREAM]["cursor"]
        await wire.append("é and new")
        head = {"cursor": await wire.cursor(), "revision": 2, "state": "open"}
        whole = result(await inspector(era, "resources/read", "--uri", URI, wire.url))
        by_uri = result(await inspector(era, "resources/read", "--uri", f"{URI}?since={since}", wire.url))
        metadata = ["--metadata", f"{STREAM}={json.dumps({'since': since})}", "--", wire.url]
        by_meta = result(await inspector(era, "resources/read", "--uri", URI, *metadata))

    delta = {"from": since, "to": head["cursor"], "kind": "text"}
    assert (part["text"], whole["contents"][0]["text"]) == ("old ", "old é and new")
    (contents,) = by_uri["contents"]
    assert (contents["text"], contents["_meta"]) == ("é and new", {STREAM: {**head, "delta": delta}})
    assert by_meta["contents"] == []
    assert by_meta["_meta"][STREAM] == {**head, "delta": {**delta, "text": "é and new"}}


@requirement("SR-5.6")
@every_era
async def test_of_an_unknown_resource_it_shows_the_message_alone(inspector: Inspector, era: str) -> None:
    async with serving() as wire:
        done = await inspector(era, "resources/read", "--uri", NOWHERE, wire.url)

    assert done.returncode == 1
    assert json.loads(done.stderr) == {"error": {"code": "error", "message": f"no resource '{NOWHERE}'"}}


async def test_it_has_no_command_to_subscribe(inspector: Inspector) -> None:
    async with serving() as wire:
        done = await inspector("legacy", "resources/subscribe", "--uri", URI, wire.url)

    assert done.returncode == 1
    assert json.loads(done.stderr)["error"]["message"].startswith("Unsupported method: resources/subscribe.")


@every_era
async def test_it_starts_a_server_over_stdio(inspector: Inspector, era: str) -> None:
    serve = [sys.executable, "-m", "streamres", "serve", "--stdio", "--store", "memory:"]
    own = [sys.executable, STDIO_SERVER, URI, "old and new"]

    shown = result(await inspector(era, "initialize", "--", *serve))
    listed = result(await inspector(era, "resources/list", "--", *own))
    (contents,) = result(await inspector(era, "resources/read", "--uri", URI, "--", *own))["contents"]

    assert (shown["serverInfo"]["name"], shown["protocolVersion"]) == ("streamres serve", version(era))
    assert [entry["uri"] for entry in listed["resources"]] == [URI]
    assert contents["text"] == "old and new"


@every_era
async def test_it_saves_the_log_of_a_command_that_streamres_ran(
    inspector: Inspector, era: str, tmp_path: Path
) -> None:
    saved = tmp_path / "log"
    say = python("for number in range(100_000): print('line', number)")
    with live("run", "--port", "0", "--uri", URI, "--linger", "60", "--", *say) as server:
        out, err = server.process.stdout, server.process.stderr
        assert out is not None
        assert err is not None
        printed = b"".join(out.readline() for _ in range(100_000))
        assert b"ended with exit code 0" in err.readline()  # it is sealed by then
        raw = ["--uri", URI, "--output", str(saved), "--output-format", "raw", server.url]
        done = await inspector(era, "resources/read", *raw)

    assert done.returncode == 0, done.stderr.decode()
    assert len(printed) > 1024 * 1024
    assert saved.read_bytes() == printed
