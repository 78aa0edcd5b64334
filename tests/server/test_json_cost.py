"""What a document of 1 MB costs under 10,000 small patches: memory, and bytes to who follows and who comes late.

Nothing here is timed. The server is a process of its own, measured from outside; so does `benchmarks`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from benchmarks.contestants import OURS
from benchmarks.documents import document_patch, document_row
from benchmarks.plan import MB
from benchmarks.process import running
from benchmarks.rows.document import BAR_FOLLOWED, BAR_MEMORY_MB, Patched, grown, patched
from model.json_oracle import patched as by_the_oracle
from requirement import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.process import ServerProcess

PATCHES = 10_000


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with running(OURS) as (server,):
        yield server


@pytest.fixture(scope="module")
def done(server: ServerProcess) -> Patched:
    return patched(server, size=MB, patches=PATCHES)


@requirement("SR-2.3")
@requirement("SR-6.4")
def test_the_patches_take_little_memory_beside_the_document(done: Patched) -> None:
    assert len(json.dumps(done.document)) > MB

    assert done.grown_bytes < BAR_MEMORY_MB * MB


@requirement("SR-3.3")
@requirement("SR-6.3")
def test_who_follows_is_sent_hardly_more_than_the_patches(done: Patched) -> None:
    assert done.followed_patch_bytes <= done.patch_bytes
    assert done.followed_bytes <= BAR_FOLLOWED * done.patch_bytes


@requirement("SR-3.2")
def test_what_was_followed_leads_to_the_document(done: Patched) -> None:
    rows = [document_row(number) for number in range(len(done.document["rows"]))]
    first = {"rows": rows, "count": 0, "text": ""}
    made = [operation for number in range(PATCHES) for operation in document_patch(number)]

    assert by_the_oracle(first, done.operations) == by_the_oracle(first, made) == done.document


@requirement("SR-5.1")
def test_who_joins_at_the_end_is_sent_one_snapshot(done: Patched) -> None:
    (item,) = done.joined["contents"]

    assert not {"delta", "more", "reset"} & set(done.joined)
    assert (done.joined["revision"], done.joined["kind"]) == (PATCHES, "json")
    assert len(item["text"]) > MB


@requirement("SR-5.10")
def test_who_comes_back_late_is_sent_one_answer_no_larger_than_the_document(done: Patched) -> None:
    (result,) = done.late

    size = len(json.dumps(done.document, separators=(",", ":")))
    assert done.late_bytes <= size * 1.3
    assert ("delta" in result) != (result.get("reset") == "smaller")


@requirement("SR-2.5.a")
def test_a_string_that_grows_costs_on_the_wire_what_was_added(server: ServerProcess) -> None:
    appended, plainly = grown(server, appends=10_000, reads=100)

    half = len(appended) // 2
    assert sum(appended[half:]) <= 1.05 * sum(appended[:half])
    assert sum(appended) <= 1.3 * 10_000 * 20 + 100 * 1_000, "the text, and an envelope for each read"
    assert sum(plainly[half:]) > 2 * sum(plainly[:half]), "RFC 6902 alone sends all of it each time"
    assert sum(plainly) > 20 * sum(appended)
