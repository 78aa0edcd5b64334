"""The note's schema files fit the official types of MCP 2026-07-28: they add to them and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp_types import _v2026_07_28 as official
from requirement import requirement
from wire.contract import STREAM, binding_of
from wire.golden import exchanges, paths, read
from wire.official import NOTIFICATIONS, RESULTS, official_names
from wire.schemas import MEMBERS, defines, files, joined, member_names

OFFICIAL = {**RESULTS, "tools/call": "CallToolResult"}
PLACES = ("fields.json", "meta.json", "uri.json")


@pytest.mark.parametrize("file", PLACES)
def test_every_type_that_a_place_adds_to_is_an_official_one(file: str) -> None:
    assert not [name for name in files()[file]["$defs"] if not hasattr(official, name)]


@requirement("SR-10.2.a")
@pytest.mark.parametrize("name", MEMBERS)
def test_no_added_member_is_there_already(name: str) -> None:
    assert not member_names(MEMBERS[name]) & official_names(name)


def typed(case: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The binding, type and value of every result and of the parameters of every notification."""
    for request, message in exchanges(case):
        if request is None or "error" in message:
            continue
        if "method" in message:
            name, value = NOTIFICATIONS.get(message["method"]), message["params"]
        else:
            name, value = OFFICIAL[request["method"]], message["result"]
        if name is not None:  # what an extension adds as a whole has no official type
            yield binding_of(request), name, value


def everything() -> list[tuple[str, str, dict[str, Any]]]:
    return [found for path in paths() for case in read(path)["cases"] for found in typed(case)]


@requirement("SR-10.1")
@requirement("SR-10.2")
@requirement("SR-10.3")
def test_by_all_of_an_official_type_and_ours_a_golden_frame_has_no_other_member() -> None:
    for binding, name, value in everything():
        place = f"{binding}.json"
        others = [f"{place}#/$defs/{name}"] if binding != "plain" and defines(place, name) else []
        error = next(joined(name, *others, closed=True).iter_errors(value), None)
        assert error is None, f"{name} in {binding}: {error}"


@requirement("SR-10.1")
def test_without_ours_an_official_type_has_a_member_too_many_in_fields_alone() -> None:
    seen = {
        (binding, joined(name, closed=True).is_valid(value))
        for binding, name, value in everything()
        if name == "ReadResourceResult"
    }

    assert seen == {("plain", True), ("fields", False), ("meta", True), ("uri", True)}


@requirement("SR-10.3.b")
def test_an_official_model_keeps_our_members_in_meta() -> None:
    results = [value for binding, name, value in everything() if (binding, name) == ("meta", "ReadResourceResult")]

    assert results
    for result in results:
        kept = official.ReadResourceResult.model_validate(result).model_dump(by_alias=True)
        assert kept["_meta"][STREAM] == result["_meta"][STREAM]
