"""The note's schema files by name, and how they are joined with the official types."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from pydantic.json_schema import models_json_schema
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from .official import model

SCHEMA = Path(__file__).parents[2] / "spec-notes" / "schema"
MEMBERS = {
    "ReadResourceRequestParams": "ReadRequestMembers",
    "ReadResourceResult": "ReadResultMembers",
    "ResourceUpdatedNotificationParams": "UpdatedMembers",
    "SubscriptionsListenRequestParams": "ListenMembers",
    "SubscriptionsAcknowledgedNotificationParams": "AcknowledgedMembers",
    "Resource": "ResourceMembers",
}
"""The members that a type gains, by their name in `stream.json`."""

FILTERED = {"SubscriptionsListenRequestParams", "SubscriptionsAcknowledgedNotificationParams"}
"""Types whose members stand in `notifications`, where they stand in the open."""

NEEDED = {
    "ReadResourceResult": "cursor",
    "ResourceUpdatedNotificationParams": "cursor",
    "SubscriptionsAcknowledgedNotificationParams": "resourceStreams",
    "Resource": "stream",
}
"""What is there in every answer to a client that uses the extension (SR-5.1.b, SR-6, SR-7.5.a, SR-8.1.a)."""

OFFICIAL = "mcp.json"
"""The name of the official types among the files, in place of the specification's own `schema.json`."""


@cache
def files() -> Mapping[str, dict[str, Any]]:
    """The note's schema files by name."""
    return {path.name: json.loads(path.read_text()) for path in sorted(SCHEMA.glob("*.json"))}


@cache
def defines(file: str, name: str) -> bool:
    return name in files()[file]["$defs"]


def validator(schema: Mapping[str, Any], *official_types: str) -> Draft202012Validator:
    """For a schema that refers to the note's files, and to `official_types` in `mcp.json`."""
    contents = dict(files())
    if official_types:
        models = [(model(name), "validation") for name in official_types]
        contents[OFFICIAL] = models_json_schema(models, ref_template="#/$defs/{model}")[1]  # type: ignore[arg-type]
    resources = [
        (name, Resource.from_contents(c, default_specification=DRAFT202012)) for name, c in contents.items()
    ]
    return Draft202012Validator(schema, registry=Registry().with_resources(resources))


def joined(name: str, *others: str, closed: bool = False) -> Draft202012Validator:
    """For the official type `name` and, by `allOf`, what `others` add to it."""
    references = [f"{OFFICIAL}#/$defs/{name}", *others]
    schema: dict[str, Any] = {"allOf": [{"$ref": reference} for reference in references]}
    return validator(schema | {"unevaluatedProperties": False} if closed else schema, name)


@cache
def inlined(file: str, name: str) -> Draft202012Validator:
    """For one definition of a file, with every reference in it resolved beforehand: many times as fast."""
    return Draft202012Validator(_resolved(files()[file]["$defs"][name], file))


def _resolved(schema: Any, file: str) -> Any:  # noqa: ANN401
    if isinstance(schema, list):
        return [_resolved(item, file) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        assert set(schema) == {"$ref"}, "a reference stands alone"
        target, name = _target(schema["$ref"], file)
        return _resolved(files()[target]["$defs"][name], target)
    return {key: _resolved(value, file) for key, value in schema.items()}


def _target(reference: str, file: str) -> tuple[str, str]:
    target, _, pointer = reference.partition("#/$defs/")
    return target or file, pointer


@cache
def member_names(name: str, file: str = "stream.json") -> frozenset[str]:
    """The members that a definition of the note's allows."""
    return frozenset(_names(inlined(file, name).schema))


def _names(schema: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name, value in schema.get("properties", {}).items() if value is not False)
    for key in ("allOf", "oneOf"):
        for part in schema.get(key, ()):
            yield from _names(part)
