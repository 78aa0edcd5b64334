"""What is wrong with a file is found, whatever it is; and where nothing is, nothing."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from pathlib import Path

import pytest
from cli.program import streamres

from streamres.errors import StoreError
from streamres.model import AppendNumber, Description, Kind
from streamres.store.sqlite import SqliteStore, verify

LOG, CORE, PLAN, OPEN = "build://7/log", "build://7/core", "build://7/plan", "build://7/open"
KINDS: dict[str, Kind] = {LOG: "text", CORE: "blob", PLAN: "json", OPEN: "text"}


async def fill(path: Path) -> None:
    """Some of everything: split and joined pieces, seals, a floor, producers, replaced content."""
    async with SqliteStore.open(path) as store:
        for uri, kind in KINDS.items():
            await store.create(Description(uri=uri, name="x", kind=kind), b"[]" if kind == "json" else b"begin\n")
        await store.replace(OPEN, b"replaced\n")
        for seq in range(70):
            number = AppendNumber(producer="p", epoch=2, seq=seq)
            await store.append(LOG, f"{seq} é😀\n".encode() * (20_000 if seq == 9 else 3), number=number)
            await store.append(OPEN, f"{seq} é\n".encode(), cause=f"c{seq // 10}")
            await store.append(CORE, b"\xff\x00" * (40_000 if seq % 30 == 7 else 5))
            await store.append(PLAN, b'[{"op":"add","path":"/-","value":"%s"}]' % (b"x" * 2_000))
        for uri in (LOG, CORE, PLAN):
            await store.append(uri, b"", seal="complete")
        await store.compact(PLAN, 69)
        await store.compact(OPEN, 20)
        await store.append(OPEN, b"after the floor\n")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed file."""
    path = tmp_path_factory.mktemp("sound") / "store.db"
    asyncio.run(fill(path))
    return path


@pytest.fixture
def planted(sound: Path, tmp_path: Path) -> Path:
    """A copy to be spoilt."""
    return Path(shutil.copy(sound, tmp_path / "store.db"))


CONTENT = "content = (SELECT content FROM resource WHERE uri = '%s')"
OF_LOG, OF_OPEN, OF_PLAN, OF_CORE = (CONTENT % uri for uri in (LOG, OPEN, PLAN, CORE))
SECOND = f"begin = (SELECT begin FROM piece WHERE {OF_LOG} ORDER BY begin LIMIT 1 OFFSET 1)"

PLANTED: dict[str, tuple[str, str]] = {
    "a piece is gone": (f"DELETE FROM piece WHERE {OF_LOG} AND {SECOND}", "those before it end at"),
    "the last piece is gone": (
        f"DELETE FROM piece WHERE begin = (SELECT max(begin) FROM piece WHERE {OF_OPEN}) AND {OF_OPEN}",
        "the newest revision in the pieces is",
    ),
    "a piece is short": (
        f"UPDATE piece SET data = substr(data, 1, length(data) - 1) WHERE {OF_CORE} AND begin = 0",
        "those before it end at",
    ),
    "a byte is another": (
        f"UPDATE piece SET data = CAST('B' || substr(data, 2) AS BLOB) WHERE {OF_LOG} AND begin = 0",
        "sealed with the digest",
    ),
    "a byte of a blob is another": (
        f"UPDATE piece SET data = CAST(x'00' || substr(data, 2) AS BLOB) WHERE {OF_CORE} AND begin = 0",
        "sealed with the digest",
    ),
    "not UTF-8": (
        f"UPDATE piece SET data = CAST(substr(data, 1, 20) || x'ff' || substr(data, 22) AS BLOB) WHERE {OF_OPEN}",
        "is not UTF-8 of whole code points",
    ),
    "a revision is left out": (
        f"UPDATE piece SET revision = revision + 1 WHERE {OF_OPEN} AND begin > 50",
        "begins with revision",
    ),
    "an end is torn": (f"UPDATE piece SET ends = CAST(ends || x'00' AS BLOB) WHERE {OF_OPEN}", "a torn list of"),
    "an end is beyond the piece": (
        f"UPDATE piece SET ends = x'ffff0000' WHERE {OF_OPEN} AND begin = 9",
        "ends beyond it",
    ),
    "an end is inside a code point": (
        f"UPDATE piece SET ends = x'03000000' WHERE {OF_OPEN} AND begin = 9",
        "ends inside a code point",
    ),
    "what led to a revision that is none": (
        f"UPDATE cause SET last = 1000 WHERE {OF_OPEN} AND cause = 'c6'",
        "'c6' is said to have led to revisions 61 to 1000, which cannot be",
    ),
    "two led to one revision": (
        f"UPDATE cause SET last = last + 1 WHERE {OF_OPEN} AND cause = 'c4'",
        "'c5' is said to have led to revisions 51 to 60, which cannot be",
    ),
    "what led to what was forgotten": (
        f"INSERT INTO cause SELECT content, 3, 4, 'x' FROM resource WHERE uri = '{OPEN}'",
        "'x' is said to have led to revisions 3 to 4, which cannot be",
    ),
    "what led to nothing": ("INSERT INTO cause VALUES (999, 1, 1, 'x')", "1 causes belong to nothing"),
    "the length is another": (f"UPDATE resource SET length = length + 1 WHERE uri = '{OPEN}'", "the content at"),
    "the revision is another": (
        f"UPDATE resource SET revision = revision + 1 WHERE uri = '{OPEN}'",
        "the newest revision in the pieces is",
    ),
    "the floor is another": (
        f"UPDATE resource SET floor_length = floor_length + 2 WHERE uri = '{OPEN}'",
        "the floor, revision 20, ends at",
    ),
    "the digest is another": (
        f"UPDATE resource SET digest = 'sha-256=:AAAA:' WHERE uri = '{CORE}'",
        "sealed with the digest sha-256=:AAAA:",
    ),
    "a digest without a seal": ("UPDATE resource SET digest = 'x' WHERE state = 'open'", "open, and has a digest"),
    "no such state": ("UPDATE resource SET state = 'ended' WHERE state = 'open'", "the state is 'ended'"),
    "no description": ("UPDATE resource SET description = '{' WHERE state = 'open'", "cannot be read"),
    "the description of another": (
        f"UPDATE resource SET description = replace(description, '/open', '/other') WHERE uri = '{OPEN}'",
        "the description is that of build://7/other",
    ),
    "no document": (f"DELETE FROM document WHERE {OF_PLAN}", "no document was saved"),
    "another document": (f"UPDATE document SET data = CAST('[1]' AS BLOB) WHERE {OF_PLAN}", "the document has"),
    "no JSON": (f"UPDATE document SET data = CAST('[1' AS BLOB) WHERE {OF_PLAN}", "damaged"),
    "patches that do not apply": (
        f"UPDATE document SET data = CAST('null' AS BLOB), length = (SELECT min(begin) FROM piece WHERE {OF_PLAN})"
        f" WHERE {OF_PLAN}",
        "the patches are damaged",
    ),
    "a document ahead of its patches": (
        f"UPDATE document SET length = length + 1 WHERE {OF_PLAN}",
        "the document was saved at",
    ),
    "patches are gone": (
        f"UPDATE document SET length = 0 WHERE {OF_PLAN}",
        "after the saved document or the floor",
    ),
    "a number is missing": ("DELETE FROM acknowledged WHERE seq = 50", "are not all kept"),
    "a producer is ahead": ("UPDATE producer SET next_seq = 99", "the next number is 99"),
    "an acknowledgement of nothing": (
        "UPDATE acknowledged SET length = length + 1 WHERE seq = 50",
        "number 50 was acknowledged with revision 51",
    ),
    "acknowledgements of nobody": ("DELETE FROM producer", "acknowledgements belong to nothing"),
    "a producer of nothing": ("UPDATE producer SET resource = 99", "1 producers belong to nothing"),
    "a resource is gone": (f"DELETE FROM resource WHERE uri = '{CORE}'", "pieces belong to nothing"),
    "one content for two": (
        f"UPDATE resource SET content = (SELECT content FROM resource WHERE uri = '{LOG}') WHERE uri = '{OPEN}'",
        "2 have the same content",
    ),
    "a counter is behind": ("UPDATE counter SET value = 1", "the counter 'change' stands at 1"),
    "a counter is missing": ("DELETE FROM counter WHERE name = 'list'", "the counter 'list' is missing"),
}


def test_nothing_is_found_where_nothing_is_wrong(sound: Path) -> None:
    assert list(verify(sound)) == []


@pytest.mark.parametrize(("spoil", "said"), PLANTED.values(), ids=PLANTED)
def test_what_is_wrong_is_found(planted: Path, spoil: str, said: str) -> None:
    db = sqlite3.connect(planted, isolation_level=None)
    assert db.execute(spoil).rowcount > 0, "nothing was spoilt"
    db.close()

    findings = list(verify(planted))

    assert [finding for finding in findings if said in finding], findings


@pytest.mark.parametrize("part", range(1, 8))
def test_pages_that_are_overwritten_are_found(planted: Path, part: int) -> None:
    db = sqlite3.connect(planted, isolation_level=None)
    db.execute("VACUUM")  # a page that is free can hold anything
    db.close()
    with planted.open("r+b") as file:
        file.seek(planted.stat().st_size * part // 8 // 4096 * 4096)
        file.write(b"\xaa" * 4096)

    assert list(verify(planted))


def test_the_command_writes_a_line_a_finding_and_fails(planted: Path, tmp_path: Path) -> None:
    well = streamres("doctor", f"sqlite:{planted}")
    db = sqlite3.connect(planted, isolation_level=None)
    db.execute("UPDATE resource SET digest = 'x'")
    db.close()
    ill, missing = streamres("doctor", str(planted)), streamres("doctor", str(tmp_path / "none"))

    assert (well.returncode, well.stdout) == (0, b"")
    assert ill.returncode == 1
    assert len(ill.stdout.splitlines()) == 4
    assert f"4 findings in {planted}".encode() in ill.stderr
    assert (missing.returncode, missing.stdout) == (1, b"")
    assert b"there is no file" in missing.stderr


async def test_a_file_is_looked_into_while_it_is_written_to(planted: Path) -> None:
    async with SqliteStore.open(planted) as store:
        findings = verify(planted)
        await store.append(OPEN, b"more\n" * 50_000)
        assert list(findings) == []
        assert list(verify(planted)) == []


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database\n" * 100)
    (tmp_path / "empty").touch()

    for name, said in (("none", "there is no file"), ("text", "not a database"), ("empty", "older streamres, or")):
        with pytest.raises(StoreError, match=said):
            list(verify(tmp_path / name))
    assert not (tmp_path / "none").exists()
