"""Sections 2 and 3: kinds, history, digests."""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter

from check.tampering import Fault, Json, members_of

from .plant import (
    EXTENSION,
    NO_DIGEST,
    Planted,
    asks,
    other_content,
    reads,
    reset_as,
    uploads,
)


def split_code_point(request: Json, members: Json, result: Json) -> None:
    text = members.get("delta", {}).get("text", "")
    if members.get("more") and not text.isascii():
        members["delta"]["text"] = text.encode()[:-1].decode("utf-8", "replace")


def half_code_point(request: Json, members: Json, result: Json) -> None:
    text = members.get("delta", {}).get("text", "")
    if members.get("more") and any(ord(char) > 0xFFFF for char in text):
        members["delta"]["text"] = "\ud83d"


def other_content_later() -> Fault:
    class Later(Fault):
        reads = 0

        def answered(self, request: Json, answer: Json) -> Json:
            members = members_of(answer) if request["method"] == "resources/read" else None
            if members and members.get("delta", {}).get("text"):
                self.reads += 1
                if self.reads > 2:
                    members["delta"]["text"] = members["delta"]["text"].swapcase()
            return answer

    return Later()


def hex_blob(request: Json, members: Json, result: Json) -> None:
    if "blob" in members.get("delta", {}):
        members["delta"]["blob"] = b64decode(members["delta"]["blob"]).hex() + "!"


def digest_of_nothing(request: Json, members: Json, result: Json) -> None:
    if "digest" in members:
        members["digest"] = NO_DIGEST


def digest_in_hex(request: Json, members: Json, result: Json) -> None:
    if "digest" in members:
        members["digest"] = "sha-256=" + "0" * 64


def no_digest_beside_a_delta(request: Json, members: Json, result: Json) -> None:
    if "delta" in members:
        members.pop("digest", None)


def revisions_by_two(request: Json, members: Json, result: Json) -> None:
    members["revision"] *= 2


def revision_of_the_floor(request: Json, members: Json, result: Json) -> None:
    if members.get("more"):
        members["revision"] = max(0, members["revision"] - 1)


def questions_marks(query: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return query, body.replace(b"\xff", b"?")


def cut_is_shown(query: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return query, body.decode("utf-8", "replace").encode() if query.get("kind") == "text" else body


def gone_later() -> Fault:
    """Forgets the content, not only the history."""

    class Gone(Fault):
        def __init__(self) -> None:
            self.snapshots: Counter[str] = Counter()

        def answered(self, request: Json, answer: Json) -> Json:
            for item in answer.get("result", {}).get("contents", []):
                self.snapshots[item["uri"]] += 1
                if self.snapshots[item["uri"]] > 3:
                    item["text"] = ""
            return answer

    return Gone()


def patch_that_does_not_apply(request: Json, members: Json, result: Json) -> None:
    if "patch" in members.get("delta", {}):
        members["delta"]["patch"].append({"op": "remove", "path": "/not there"})


def appends_for_everyone(request: Json) -> None:
    capabilities = request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    settings = {"patchOps": ["append"]}
    capabilities.setdefault("extensions", {}).setdefault(EXTENSION, {}).update(settings)


def half_a_patch(query: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    """The first operation of a patch is done, whatever becomes of the others."""
    try:
        return query, json.dumps(json.loads(body)[:1]).encode()
    except ValueError:
        return query, body


def any_digest(request: Json, members: Json, result: Json) -> None:
    if members["state"] != "open":
        members.setdefault("digest", NO_DIGEST)


def rounded(query: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    number = str(2**70).encode()
    return query, body.replace(number, str(2**70 - 2**70 % 1000).encode())


def other_text_appended(request: Json, members: Json, result: Json) -> None:
    for operation in members.get("delta", {}).get("patch", []):
        if operation["op"] == "append":
            operation["value"] += "?"


FAULTS = [
    Planted("a delta that splits a code point", reads(split_code_point), "SR-2.1.a"),
    Planted("a delta with half a surrogate pair", reads(half_code_point), "SR-2.1.a"),
    Planted("bytes that become question marks", uploads(questions_marks), "SR-2.1.b"),
    Planted("a cut sequence that is shown", uploads(cut_is_shown), "SR-2.1.c"),
    Planted("a blob in hexadecimal", reads(hex_blob), "SR-2.2", kind="blob"),
    Planted("a patch that does not apply", reads(patch_that_does_not_apply), "SR-2.3.a", kind="json"),
    Planted("half of a refused patch is applied", uploads(half_a_patch), "SR-2.3.b", kind="json"),
    Planted("a number that is rounded", uploads(rounded), "SR-2.3.c", kind="json"),
    Planted("a replacement that says expired", reads(reset_as("expired")), "SR-2.4.b"),
    Planted("another text in an append operation", reads(other_text_appended), "SR-2.5.a", kind="json"),
    Planted("append operations for everyone", asks(appends_for_everyone), "SR-2.5.b", kind="json"),
    Planted("a cursor whose content changes", other_content_later, "SR-3.1.a"),
    Planted("two revisions a commit", reads(revisions_by_two), "SR-3.1.b"),
    Planted("a delta with other content", reads(other_content), "SR-3.2"),
    Planted("a delta to the seal without digest", reads(no_digest_beside_a_delta), "SR-3.4.a"),
    Planted("a digest of something else", reads(digest_of_nothing), "SR-3.4.b"),
    Planted("a digest in hexadecimal", reads(digest_in_hex), "SR-3.4.b"),
    Planted("a digest of a value outside I-JSON", reads(any_digest), "SR-3.4.c", kind="json"),
    Planted("content that is compacted away", gone_later, "SR-3.5.b"),
    Planted("a position inside a revision with the number before", reads(revision_of_the_floor), "SR-3.6.b"),
]
