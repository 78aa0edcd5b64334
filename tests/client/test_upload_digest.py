"""GET over HTTP says where a resource stands, and a seal is refused that has the digest of other content."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from requirement import requirement
from server.wire import NOWHERE, URI

from .uploading import digest_of, numbered, upload

if TYPE_CHECKING:
    from server.wire import Wire


@requirement("SR-9.1")
async def test_a_get_says_where_the_resource_and_the_producer_stand(wire: Wire) -> None:
    status, nothing = await upload(wire, uri=NOWHERE, method="GET", producer="p")
    assert (status, nothing["error"]["data"]) == (404, {"uri": NOWHERE})

    _, after = await upload(wire, "é".encode(), **numbered(0, epoch=3))
    here = {**after, "length": 2}

    assert await upload(wire, method="GET") == (200, here)
    assert await upload(wire, method="GET", producer="other") == (200, here)
    assert await upload(wire, method="GET", producer="p") == (200, {**here, "producer": {"epoch": 3, "seq": 1}})


@requirement("SR-3.4")
async def test_a_get_of_what_is_sealed_has_its_digest(wire: Wire) -> None:
    await upload(wire, b"all", seal="complete")

    assert (await upload(wire, method="GET"))[1]["digest"] == digest_of(b"all")


@requirement("SR-3.4")
@requirement("SR-9.2")
@pytest.mark.parametrize("last", [b"", b"!"], ids=["the seal alone", "with the last append"])
async def test_a_seal_with_the_digest_of_other_content_is_refused_and_seals_nothing(
    wire: Wire, last: bytes
) -> None:
    await upload(wire, b"content", **numbered(0))
    there, other = digest_of(b"content" + last), digest_of(b"c0ntent" + last)

    status, body = await upload(wire, last, seal="complete", digest=other, **numbered(1))

    data = {"reason": "digest", "uri": URI, "expected": other, "actual": there}
    assert (status, body["error"]["data"]) == (409, data)
    _, now = await upload(wire, method="GET", producer="p")
    assert (now["state"], now["revision"], now["producer"]["seq"]) == ("open", 1, 1)
    sealed = {"seal": "complete", "digest": there}
    assert (await upload(wire, last, **sealed, **numbered(1)))[0] == 200
    assert (await upload(wire, last, **sealed, **numbered(1)))[0] == 200, "a repeat"
    assert (await upload(wire, **sealed))[0] == 200, "a seal equal to the one that is there"
    assert (await upload(wire, seal="complete", digest=other))[0] == 409


@pytest.mark.parametrize(
    "query",
    [
        {"digest": digest_of(b"x")},
        {"digest": "sha-256=:x:", "seal": "complete"},
        {"digest": "md5=:x:", "seal": "complete"},
    ],
    ids=["without a seal", "no digest", "another algorithm"],
)
async def test_a_digest_that_means_nothing_is_refused(wire: Wire, query: dict[str, object]) -> None:
    status, body = await upload(wire, b"x", **query)

    assert (status, body["error"]["data"]["reason"]) == (400, "invalid_params")


async def test_a_document_is_sealed_with_its_digest_in_a_step_of_its_own(wire: Wire) -> None:
    await upload(wire, b'[{"op": "replace", "path": "", "value": {"a": 1}}]', NOWHERE, kind="json")
    query = {"seal": "complete", "digest": digest_of(b'{"a":1}')}

    status, body = await upload(wire, b'[{"op": "remove", "path": "/a"}]', NOWHERE, **query)

    assert (status, body["error"]["data"]["reason"]) == (400, "invalid_content")
    assert (await upload(wire, b"", NOWHERE, **query))[0] == 200
