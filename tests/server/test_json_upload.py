"""A patch that is uploaded: its numbers come out as they went in, or it is refused by name and changes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from requirement import requirement

from .documents import asking
from .frames import STREAM

if TYPE_CHECKING:
    from .documents import Document


@requirement("SR-2.3")
async def test_numbers_are_exact_digit_by_digit_on_the_wire(document: Document) -> None:
    start = await document.cursor()
    numbers = "[18446744073709551617,0.1,1e+22,-0.0,5e-324,1.0,100,9007199254740993]"
    upload = document.url.replace("/mcp", f"/upload?uri={document.uri}")
    body = b'[{"op":"add","path":"/x","value":' + numbers.encode() + b"}]"
    assert (await document.http.post(upload, content=body)).status_code == 200

    async def raw(**params: object) -> str:
        meta = {**asking("append"), **({STREAM: {}} if "since" not in params else {})}
        message = {"jsonrpc": "2.0", "id": 1, "method": "resources/read"}
        body = json.dumps({**message, "params": {"uri": document.uri, "_meta": meta, **params}}).encode()
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "resources/read", "mcp-name": document.uri}
        return (await document.post(body, {"content-type": "application/json", **headers})).text

    assert f'"patch":[{{"op":"add","path":"/x","value":{numbers}}}]' in await raw(since=start)
    assert f'\\"x\\":{numbers}}}"' in await raw()


REFUSED_UPLOADS: dict[str, tuple[bytes, dict[str, object]]] = {
    "text": (b"more text", {"reason": "invalid_content"}),
    "a document": (b'{"a":1}', {"reason": "invalid_content"}),
    "a patch that fails": (b'[{"op":"remove","path":"/none"}]', {"reason": "invalid_content"}),
    "too deep": (
        b'[{"op":"add","path":"/x","value":' + b"[" * 128 + b"]" * 128 + b"}]",
        {"reason": "limit", "limit": "json_depth", "value": 128},
    ),
    "far too deep": (b"[" * 100_000, {"reason": "limit", "limit": "json_depth", "value": 128}),
    "too many operations": (
        b"[" + b",".join([b'{"op":"remove","path":"/n"}'] * 1_001) + b"]",
        {"reason": "limit", "limit": "patch_ops", "value": 1_000},
    ),
    "too large a document": (
        b'[{"op":"add","path":"/x","value":"' + b"x" * 4_200_000 + b'"}]',
        {"reason": "limit", "limit": "json_bytes", "value": 4_194_304},
    ),
    "half a surrogate pair": (rb'[{"op":"add","path":"/x","value":"\ud800"}]', {"reason": "invalid_content"}),
}


@requirement("SR-13.1")
@requirement("SR-12.3")
@requirement("SR-2.3.b")
@pytest.mark.parametrize(("body", "data"), REFUSED_UPLOADS.values(), ids=REFUSED_UPLOADS)
async def test_a_patch_that_is_refused_says_why_and_changes_nothing(
    document: Document, body: bytes, data: dict[str, object]
) -> None:
    before = await document.cursor()

    answer = await document.http.post(document.url.replace("/mcp", f"/upload?uri={document.uri}"), content=body)

    assert answer.status_code in (400, 413)
    assert answer.json()["error"]["data"] == data
    assert await document.cursor() == before
