"""The right server has nothing to be told, by whatever means it is looked at."""

from __future__ import annotations

import json
import shlex
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
from cli.program import python
from server.wire import WatchedStore

from streamres import Server
from streamres.check import Request, run
from streamres.check.clauses import clauses
from streamres.check.runner import summary
from streamres.check.unseen import UNSEEN

from .site import IMPATIENT, QUICK
from .tampering import Fault, Json, members_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from streamres.check import Finding
    from streamres.store import Entry, Store

    from .site import Site

# What takes a second server, a reader without rights, or entries that a producer wrote with an audience.
BY_OTHER_MEANS = {"SR-4.2.a", "SR-4.4", "SR-7.5.b", "SR-8.1.c"}


def statuses(findings: dict[str, Finding]) -> dict[str, str]:
    return {name: finding.status for name, finding in findings.items()}


async def test_every_clause_that_can_be_seen_passes(site: Site) -> None:
    findings = await site.check()

    assert findings.keys() == clauses().keys()
    wrong = {name: finding for name, finding in findings.items() if finding.status in ("fail", "warn")}
    assert not wrong
    assert {name for name, status in statuses(findings).items() if status != "pass"} == (
        UNSEEN.keys() | BY_OTHER_MEANS
    )
    assert {"fields text", "meta text", "fields blob", "fields json", "meta json"} <= {
        variant for finding in findings.values() for variant in finding.variants
    }


async def test_the_rest_passes_by_other_means() -> None:
    server = Server("first")
    second = Server("second", store=server.store)
    for kind in ("text", "blob", "json"):
        await server.create(f"build://{kind}", kind=kind, audience=["user"])
    async with server.serve(port=0, upload=True) as url, second.serve(port=0) as replica:
        only = ("SR-4.2.a", "SR-8.1.c")
        findings = await run(Request(url=url, replica=replica, only=only, waits=QUICK))

    assert {finding.clause: finding.status for finding in findings} == {"SR-4.2.a": "pass", "SR-8.1.c": "pass"}


class AsEvents(Fault):
    """Answers as the official SDKs do: each in a stream of its own, with a comment before it."""

    content_type = b"text/event-stream"

    def answered(self, request: Json, answer: Json) -> bytes:
        return b": hello\n\nevent: message\ndata: " + json.dumps(answer).encode() + b"\n\n"


async def test_answers_may_come_as_events(site: Site) -> None:
    findings = await site.check(AsEvents(), only=["SR-5.1", "SR-5.2", "SR-5.7", "SR-10.2"], kinds=["text"])

    assert summary(findings.values())["fail"] == 0
    assert statuses(findings)["SR-5.7.b"] == "pass"


class SomeCursorsAlone(Fault):
    """Sends every second update without its delta, and goes on from there: SR-6.3.c leaves when to the server."""

    def __init__(self) -> None:
        self.updates = 0

    def framed(self, request: Json, frame: Json) -> list[Json]:
        members = members_of(frame)
        if members and "delta" in members:
            self.updates += 1
            if self.updates % 2 == 0:
                del members["delta"]
        return [frame]


async def test_a_chain_may_have_cursors_without_a_delta(site: Site) -> None:
    findings = await site.check(SomeCursorsAlone(), only=["SR-6.3.b", "SR-7.1"], kinds=["text"])

    assert set(statuses(findings).values()) == {"pass"}, findings


@asynccontextmanager
async def existing(store: Store | None = None) -> AsyncIterator[str]:
    """A server that takes no uploads, with resources in every state."""
    server = Server("existing", store=store)
    for kind, pieces in (
        ("text", ["compiling é\n", "linking\n", "done 😀\n"]),
        ("blob", [b"\x00\xff", b"\xfe" * 40]),
    ):
        for state in ("open", "sealed"):
            resource = await server.create(f"build://{kind}/{state}", kind=kind)
            for piece in pieces:
                await resource.append(piece)
            if state == "sealed":
                await resource.seal()
    async with server.serve(port=0) as url:
        yield url


async def test_without_a_writer_what_is_there_is_read() -> None:
    async with existing() as url:
        findings = {finding.clause: finding for finding in await run(Request(url=url, waits=QUICK))}

    told = statuses(findings)
    assert "fail" not in told.values(), [finding for finding in findings.values() if finding.status == "fail"]
    for name in ("SR-2.1.a", "SR-3.2", "SR-3.4.b", "SR-5.2.a", "SR-5.7.b", "SR-5.8.b", "SR-6.3.a", "SR-7.1.b"):
        assert told[name] == "pass", findings[name]
    for name in ("SR-6.5", "SR-7.4.b", "SR-9.1.b"):
        assert told[name] == "not tested", findings[name]
        assert "--upload" in findings[name].detail


GROWING = "build://text/open"


class Growing(WatchedStore):
    """Commits to `GROWING` by itself, right after a look at where it stands: any, or that of who watches it."""

    def __init__(self, *, unwatched: bool) -> None:
        super().__init__()
        self._unwatched = unwatched

    async def entry(self, uri: str) -> Entry:
        entry = await super().entry(uri)
        if uri == GROWING and (self._unwatched or self.watchers):
            await self.append(uri, b"tick\n")
        return entry


async def check_growing(store: Growing) -> None:
    # The patience is more than the test is given: only a commit can end that wait in time.
    waits = replace(IMPATIENT, patience_s=60)
    only = ("SR-3.2", "SR-5", "SR-6.3.a", "SR-7", "SR-10")
    async with existing(store) as url:
        with anyio.fail_after(20):
            found = await run(Request(url=url, uris=(GROWING,), only=only, waits=waits))
    findings = {finding.clause: finding for finding in found}

    assert "fail" not in statuses(findings).values(), findings
    for name in ("SR-3.2", "SR-5.2.a", "SR-5.4.a", "SR-6.3.a", "SR-7.1.a", "SR-10.4.b"):
        assert findings[name].status == "pass", findings[name]
    assert findings["SR-5.3.a"].detail == "it changes while it is read"


async def test_a_change_that_comes_by_itself_is_waited_for() -> None:
    await check_growing(Growing(unwatched=False))


async def test_a_change_between_any_two_looks_is_no_fault() -> None:
    await check_growing(Growing(unwatched=True))


APPEND = """
import os, sys, urllib.request, urllib.parse
uri = urllib.parse.quote(os.environ["STREAMRES_URI"], safe="")
urllib.request.urlopen(f"{sys.argv[1]}?uri={uri}{''.join(sys.argv[2:])}", sys.stdin.buffer.read()).read()
"""


def command(*args: str) -> str:
    return shlex.join([*python(APPEND), *args])


async def test_commands_change_what_no_endpoint_does() -> None:
    async with Server("commanded").serve(port=0, upload=True) as url:
        target = url.replace("/mcp", "/upload")
        request = Request(
            url=url,
            upload="none",
            commands={"append": command(target), "seal": command(target, "&seal=complete"), "compact": "exit 3"},
            only=("SR-7.3.a", "SR-4.5", "SR-9.3.b"),
            waits=QUICK,
        )
        findings = {finding.clause: finding for finding in await run(request)}

    assert findings["SR-7.3.a"].status == "pass", findings["SR-7.3.a"]
    assert findings["SR-4.5"].detail.startswith("the --compact-command ended with code 3")
    assert findings["SR-9.3.b"].status == "not tested"
