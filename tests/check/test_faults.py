"""A server that is wrong in one clause is told so: by that clause, with what was sent and what was got."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Never

import pytest

from streamres import Server
from streamres.check import Request, run
from streamres.errors import ResourceExists
from streamres.model import ResourceLog
from streamres.store import Watch

from .planted import EVERY_FAULT, Planted, forbidding
from .site import IMPATIENT
from .tampering import Fault

if TYPE_CHECKING:
    from streamres.model import Head

    from .site import Site

FORBIDDEN = "check://streamres/not-yours"


@pytest.mark.parametrize("planted", EVERY_FAULT, ids=lambda planted: planted.name)
async def test_a_planted_fault_is_found(site: Site, planted: Planted) -> None:
    findings = await site.check(planted.plant(), only=[planted.clause], waits=IMPATIENT, kinds=[planted.kind])

    finding = findings[planted.clause]
    assert finding.status == planted.status, (finding.status, finding.detail)
    assert finding.detail
    telling = finding.exchanges[-1]
    assert telling.sent
    assert telling.got or telling.fault or telling.status == 200


@pytest.mark.parametrize(
    ("fault", "acknowledgement", "reading"),
    [
        (forbidding(FORBIDDEN), "pass", "pass"),
        (forbidding(FORBIDDEN, acknowledge=True), "fail", "pass"),
        (forbidding(FORBIDDEN, bounded=False), "pass", "fail"),
    ],
    ids=["in every way", "but acknowledged", "but for a bounded read"],
)
async def test_a_resource_is_refused(site: Site, fault: Fault, acknowledgement: str, reading: str) -> None:
    with suppress(ResourceExists):
        await site.server.create(FORBIDDEN)

    findings = await site.check(fault, only=["SR-7.5.b", "SR-4.4"], forbidden=[FORBIDDEN], kinds=["text"])

    assert findings["SR-7.5.b"].status == acknowledgement, findings["SR-7.5.b"]
    assert findings["SR-4.4"].status == reading, findings["SR-4.4"]


async def test_a_replica_of_another_store_is_found() -> None:
    first, second = Server("first"), Server("second")
    for server in (first, second):
        await (await server.create("build://7/log")).append("compiling\n")
    async with first.serve(port=0) as url, second.serve(port=0) as replica:
        (finding,) = await run(Request(url=url, replica=replica, only=("SR-4.2.a",), waits=IMPATIENT))

    assert finding.status == "fail", finding


async def test_a_store_that_grows_after_the_seal_is_found(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = ResourceLog.commit

    def unsealing(log: ResourceLog, data: bytes, **rest: Never) -> Head:
        log.head = replace(log.head, state="open", digest=None)
        return commit(log, data, **rest)

    monkeypatch.setattr(ResourceLog, "commit", unsealing)

    findings = await site.check(only=["SR-9.3.a"], kinds=["text"])

    assert findings["SR-9.3.a"].status == "fail"
    assert "changed it" in findings["SR-9.3.a"].detail


async def test_a_store_that_forgets_to_wake_its_readers_is_found(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watch, "mark", lambda watch, uri, head: None)

    findings = await site.check(only=["SR-5.4.a", "SR-6.5"], waits=IMPATIENT, kinds=["text"])

    assert {name: finding.status for name, finding in findings.items()} == {
        "SR-5.4.a": "fail",
        "SR-6.2.b": "fail",
        "SR-6.5": "not tested",
    }
