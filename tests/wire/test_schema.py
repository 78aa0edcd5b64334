"""The note's schema files take every golden frame, refuse every broken one, and are what `mapping.md` quotes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from requirement import requirement

from .contract import (
    EXTENSION,
    STREAM,
    OffContract,
    binding_of,
    check_answer,
    check_request,
    check_upload,
)
from .golden import exchanges, paths, read
from .schemas import MEMBERS, files, inlined, member_names

Way = tuple[str, ...]

NOTES = Path(__file__).parents[2] / "spec-notes"


@pytest.mark.parametrize("file", files())
def test_a_file_is_a_schema_and_every_reference_in_it_leads_somewhere(file: str) -> None:
    Draft202012Validator.check_schema(files()[file])
    for name in files()[file]["$defs"]:
        assert inlined(file, name).schema


@pytest.mark.parametrize("file", files())
def test_a_schema_is_open_to_members_of_later_drafts(file: str) -> None:
    text = json.dumps(files()[file])

    assert '"additionalProperties": false' not in text
    assert "unevaluatedProperties" not in text


def test_the_mapping_quotes_the_files() -> None:
    mapping = (NOTES / "mapping.md").read_text()
    quoted = re.findall(r"<!-- file: schema/(\S+) -->\n```json\n(.*?)```", mapping, re.DOTALL)

    assert {name for name, _ in quoted} >= {"stream.json", "fields.json"}
    for name, text in quoted:
        assert text == (NOTES / "schema" / name).read_text(), name


@requirement("SR-13.1")
def test_the_reasons_are_those_of_the_note() -> None:
    table = re.findall(r"^\|.*`reason: \"(\w+)\"`", (NOTES / "streamable-resources.md").read_text(), re.MULTILINE)

    assert sorted(table) == sorted(files()["errors.json"]["$defs"]["Reason"]["enum"])


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_a_golden_frame_is_of_the_schemas(path: Path) -> None:
    for case in read(path)["cases"]:
        for frame in case["frames"]:
            if frame.get("from") == "client" and "id" in frame.get("message", ()) and path.stem != "errors":
                check_request(frame["message"])
            if frame.get("from") == "server" and "jsonrpc" not in frame["message"]:
                check_upload(frame["message"], frame["status"])
        for request, message in exchanges(case):
            if request is not None:
                check_answer(request, message)


def holders(value: object, at: Way = ()) -> Iterator[tuple[Way, dict[str, Any]]]:
    """Every object within that has members of the note, and the way to it."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("delta", "stream", STREAM, EXTENSION) and isinstance(item, dict):
                yield (*at, key), item
            if key == "resourceStreams":
                yield from (((*at, key, uri), stream) for uri, stream in item.items())
            yield from holders(item, (*at, key))


def at_will(holder: dict[str, Any], message: dict[str, Any]) -> set[str]:
    """Members whose absence says something of its own; where it may be a json value, the digest too (SR-3.4.c)."""
    names = {"more", "reset", "start", "delta", "cause"}
    if '"kind": "json"' in json.dumps(message) or ("method" in message and "delta" not in holder):
        names.add("digest")
    return names | {"kind"} if "cursor" in holder else names


def broken(message: dict[str, Any], *, in_the_open: Set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The message with one thing wrong, for each thing of the note's that can be."""
    top = "result" if "result" in message else "params"
    places = [((top,), message[top], set(message[top]) & in_the_open)]
    places += [(at, holder, set(holder)) for at, holder in holders(message)]
    for at, holder, names in places:
        for name in sorted(names):
            others = {key: value for key, value in holder.items() if key != name}
            if name not in at_will(holder, message):
                yield f"without {name}", put(message, at, others)
            yield f"{name} is null", put(message, at, {**others, name: None})
            yield f"{name} misspelt", put(message, at, {**holder, f"{name}s": holder[name]})


def put(message: dict[str, Any], at: Way, holder: dict[str, Any]) -> dict[str, Any]:
    key, *rest = at
    return {**message, key: put(message[key], tuple(rest), holder) if rest else holder}


def all_broken() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    added = frozenset[str]().union(*(member_names(name) for name in MEMBERS.values()))
    for path in paths():
        for case in read(path)["cases"]:
            for request, message in exchanges(case):
                if request is not None and "error" not in message:
                    in_the_open = added if binding_of(request) == "fields" else frozenset()
                    for what, wrong in broken(message, in_the_open=in_the_open):
                        yield f"{path.stem}: {what}", request, wrong


def test_no_broken_frame_passes() -> None:
    passed = []
    seen = 0
    for what, request, wrong in all_broken():
        seen += 1
        try:
            check_answer(request, wrong)
        except OffContract:
            continue
        passed.append(f"{what}: {wrong}")

    assert not passed
    assert seen > 500
