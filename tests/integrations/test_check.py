"""The check of every clause of the note, against servers of the SDK and of FastMCP."""

from __future__ import annotations

import httpx2
from check.site import QUICK, StoreWriter

from streamres.check.runner import check
from streamres.check.session import Session
from streamres.check.stage import Stage, discover
from streamres.check.unseen import UNSEEN

from .site import Kind, site

NOT_THERE = {
    "SR-4.4",  # a reader without rights
    "SR-7.5.b",  # the same
    "SR-8.1.c",  # an entry with an audience
    "SR-10.9.a",  # updates to the older versions, and what belongs to them
    "SR-10.9.b",
    "SR-10.9.c",
    "SR-10.9.d",
}


async def test_every_other_clause_passes_and_a_server_of_our_own_is_a_replica(kind: Kind) -> None:
    async with site(kind) as here, here.producer.serve(port=0, upload=True) as beside:
        session, replica = (Session(httpx2.URL(url), QUICK) for url in (here.url, beside))
        try:
            settings = await discover(session)
            assert settings is not None
            writer = StoreWriter(session, httpx2.URL(beside).join("upload"), here.producer.store)
            findings = await check(Stage(session, writer, QUICK, settings, replica=replica))
        finally:
            await session.close()
            await replica.close()

    assert not [finding for finding in findings if finding.status in ("fail", "warn")]
    assert {finding.clause for finding in findings if finding.status != "pass"} == UNSEEN.keys() | NOT_THERE
    assert {"fields text", "meta text", "fields blob", "fields json", "meta json"} <= {
        variant for finding in findings for variant in finding.variants
    }
