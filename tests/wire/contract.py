"""What one message may be: of an official type of MCP 2026-07-28, with what the note's schemas add and no more.

A result in the binding `fields` is an official one with the members of `schema/fields.json`, one in `meta` has
those of `schema/meta.json`, one in plain MCP has neither. A member that neither side knows is a fault here:
readers ignore such, but this server and this client send none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Set
from typing import Any, Literal

from jsonschema.exceptions import best_match
from mcp_types.methods import SERVER_NOTIFICATIONS, validate_client_request, validate_server_result
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from .calling import (
    CALLS,
    OUTPUTS,
    TASK,
    TASK_CALLS,
    check_call_notification,
    check_call_result,
    check_task_request,
)
from .official import ERROR_RESPONSES, ERRORS, LEGACY_ERRORS, NOTIFICATIONS, PARAMS, RESULTS, model, official_names
from .schemas import FILTERED, MEMBERS, NEEDED, defines, files, inlined, member_names
from .shape import shape

VERSION = "2026-07-28"
LEGACY_VERSION = "2025-11-25"
EXTENSION = "dev.streamres/streamable-resources"
STREAM = "dev.streamres/stream"
VERSION_META = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"

Message = Mapping[str, Any]
Binding = Literal["plain", "fields", "meta", "uri"]

CORE_REASONS = {"missing_meta", "unknown_tool", "unknown_task", "request_state"}
"""Of refusals that are the core's own."""

_passed: set[tuple[str, str, str]] = set()
"""What a schema took before: validating is slow, and most frames have the shape of another."""

_EXPANDED = re.compile(r"[?&](since|maxBytes)=")


class OffContract(AssertionError):
    """A message is not what the schemas say."""


def is_modern(request: Message, header: str | None) -> bool:
    """Says whether a request is one of 2026-07-28; `header` is its HTTP header for the version."""
    meta = _meta(request.get("params"))
    return header == VERSION or VERSION_META in meta or CAPABILITIES in meta


def check_request(message: Message) -> None:
    """Demands that a request is one that a client of this note sends."""
    method, params = message["method"], message.get("params", {})
    demand(set(message) == {"jsonrpc", "id", "method", "params"}, "a request has other members")
    if method in TASK_CALLS:
        _official(lambda: check_task_request(method, params))
    else:
        _official(lambda: validate_client_request(method, VERSION, params))
    if method not in CALLS:
        _check_members(PARAMS[method], binding_of(message), params)
    _check_own("settings.json", "RequestMetaObject", params["_meta"])


def check_answer(request: Message | None, message: Message, *, header: str | None = None) -> None:
    """Demands that a message is one that may answer `request`; None where that could not be understood."""
    if "error" in message:
        _check_error(request, message)
        return
    if request is None:
        raise OffContract("something other than an error answers what is no request")
    if not is_modern(request, header):
        version = legacy_version(header)
        _official(lambda: validate_server_result(request["method"], version, message["result"]))
    elif "method" in message:
        _check_notification(request, message)
    else:
        _check_result(request, message)


def legacy_version(header: str | None) -> str:
    return header if header in KNOWN_PROTOCOL_VERSIONS and header != VERSION else LEGACY_VERSION


def check_pushed(message: Message, *, header: str | None = None) -> None:
    """Demands that a message is a notification that a session of the older era is sent."""
    demand(set(message) <= {"jsonrpc", "method", "params"}, "a notification has other members")
    if message["method"] == OUTPUTS:  # to a call with a member of the note (SR-10.5)
        params = message["params"]
        binding = "meta" if STREAM in _meta(params) else "fields"
        _official(lambda: check_call_notification(OUTPUTS, params, binding=binding))
        return
    row = (message["method"], legacy_version(header))
    _official(lambda: SERVER_NOTIFICATIONS[row].model_validate(message))


def binding_of(request: Message) -> Binding:
    """Says in which place the answers to a request have their members (SR-10)."""
    method, params = request["method"], request.get("params", {})
    meta = _meta(params)
    if method == "resources/read" and _EXPANDED.search(str(params.get("uri"))):
        return "uri"
    if isinstance(meta.get(STREAM), dict):
        return "meta"
    name = PARAMS.get(method, "")
    place = params.get("notifications", {}) if name in FILTERED else params
    if name in MEMBERS and isinstance(place, dict) and member_names(MEMBERS[name]) & set(place) - {"basis"}:
        return "fields"
    settings = ((meta.get(CAPABILITIES) or {}).get("extensions") or {}).get(EXTENSION)
    if settings is None:
        return "plain"
    return "meta" if settings.get("binding") == "meta" else "fields"


def demand(truth: bool, otherwise: str) -> None:
    if not truth:
        raise OffContract(otherwise)


def _check_result(request: Message, message: Message) -> None:
    method, result = request["method"], message["result"]
    demand(set(message) == {"jsonrpc", "id", "result"}, "a response has other members")
    demand(message["id"] == request["id"], "the response has another id")
    _official(lambda: model("JSONRPCResultResponse").model_validate(message))
    if method in CALLS:
        _official(lambda: check_call_result(method, result))
        return
    _official(lambda: validate_server_result(method, VERSION, result))
    binding = binding_of(request)
    name = RESULTS[method]
    _check_members(name, binding, result)
    if method == "server/discover":
        _check_own("settings.json", name, result)
        settings = result["capabilities"]["extensions"][EXTENSION]
        _check_known(settings, member_names("ServerSettings", "settings.json"), "of the settings")
    if method == "subscriptions/listen":
        demand(result["_meta"].get(SUBSCRIPTION_ID) == request["id"], "the result is of another subscription")
    for entry in result.get("resources", ()):
        _check_members("Resource", binding, entry)
    for item in result.get("contents", ()):
        _check_item(binding, item)


def _check_item(binding: Binding, item: Message) -> None:
    kind = "TextResourceContents" if "text" in item else "BlobResourceContents"
    _check_known(item, official_names(kind), "of the contents item")
    members = _meta(item).get(STREAM)
    demand(binding == "uri" or members is None, f"{binding} has members in a contents item")
    if members is not None:
        _check_known(members, member_names("ResourceReading"), "in the item's _meta")


def _check_notification(request: Message, message: Message) -> None:
    method, params = message["method"], message.get("params", {})
    demand(set(message) == {"jsonrpc", "method", "params"}, "a notification has other members")
    if request["method"] in CALLS or method == TASK:
        _official(lambda: check_call_notification(method, params, binding=binding_of(request)))
        return
    demand((method, VERSION) in SERVER_NOTIFICATIONS, f"a server sends no {method}")
    _official(lambda: SERVER_NOTIFICATIONS[(method, VERSION)].model_validate(message))
    demand(_meta(params).get(SUBSCRIPTION_ID) == request["id"], "the notification is of another subscription")
    _check_members(NOTIFICATIONS[method], binding_of(request), params)


def _check_error(request: Message | None, message: Message) -> None:
    demand(set(message) <= {"jsonrpc", "id", "error"}, "an error has other members")
    if request is not None and "id" in message:
        demand(message["id"] == request["id"], "the error has another id")
    _official(lambda: model("JSONRPCErrorResponse").model_validate(message))
    error = message["error"]
    _check_known(error, official_names("Error"), "of the error")
    if (whole := ERROR_RESPONSES.get(error["code"])) is not None:
        _official(lambda: model(whole).model_validate(message))
    elif error["code"] not in LEGACY_ERRORS and (request is None or request["method"] != "tools/call"):
        demand(error["code"] in ERRORS, f"the code {error['code']} is none of ours")
        _official(lambda: model(ERRORS[error["code"]]).model_validate(error))
    if request is None or request["method"] != "tools/call":  # a tool says what it likes
        check_refusal(error)


def check_refusal(error: Message) -> None:
    """Demands that an error is the core's, or one of section 13."""
    _check_own("errors.json", "Error", error)
    reason = (error.get("data") or {}).get("reason")
    known = {None, *CORE_REASONS, *files()["errors.json"]["$defs"]["Reason"]["enum"]}
    demand(reason in known, f"{reason!r} is no reason")


def _check_members(name: str, binding: Binding, value: Message) -> None:
    """Demands the members of the note where the binding has them, and none elsewhere."""
    if binding != "plain" and defines(f"{binding}.json", name):
        _check_own(f"{binding}.json", name, value)
    added = member_names(MEMBERS[name]) if name in MEMBERS else frozenset()
    in_the_open = added if binding == "fields" else frozenset()
    in_meta = _meta(value).get(STREAM)
    place: Message
    if name in FILTERED:
        _check_known(value, official_names(name), f"of {name}")
        place = value["notifications"]
        _check_known(place, official_names("SubscriptionFilter") | {"taskIds"} | in_the_open, "of the filter")
    else:
        place = value
        _check_known(place, official_names(name) | in_the_open, f"of {name} in the binding {binding}")
    if binding == "meta" and in_meta is not None:
        place = in_meta
        _check_known(place, added, f"in the _meta of {name}")
    else:
        demand(in_meta is None, f"{name} has members in _meta in the binding {binding}")
    if binding in ("fields", "meta"):
        needed = NEEDED.get(name)
        demand(needed is None or needed in place, f"{name} says no {needed}")
        _check_within(place, asked=name == "SubscriptionsListenRequestParams")


def _check_within(place: Message, *, asked: bool) -> None:
    if "delta" in place:
        _check_known(place["delta"], member_names("ResourceDelta"), "of the delta")
    if "stream" in place:
        _check_known(place["stream"], member_names("ResourceStream"), "of the stream")
    for stream in place.get("resourceStreams", {}).values():
        names = member_names("ResourceStreamRequest" if asked else "ResourceStreamAcknowledged")
        _check_known(stream, names, "of a resource's stream")


def _check_known(value: Message, names: Set[str], where: str) -> None:
    demand(value.keys() <= names, f"{sorted(value.keys() - names)}: no member {where}")


def _check_own(file: str, name: str, value: object) -> None:
    key = (file, name, json.dumps(shape(value)))
    if key in _passed:
        return
    error = best_match(inlined(file, name).iter_errors(value))
    if error is not None:
        raise OffContract(f"{file} {name} at {error.json_path}: {error.message[:300]}")
    _passed.add(key)


def _official(validate: Any) -> None:  # noqa: ANN401
    try:
        validate()
    except (ValidationError, KeyError, AssertionError) as exc:
        raise OffContract(f"not of the official schema: {str(exc)[:600]}") from exc


def _meta(holder: object) -> Message:
    meta = holder.get("_meta") if isinstance(holder, dict) else None
    return meta if isinstance(meta, dict) else {}


def check_upload(answer: Message, status: int) -> None:
    """Demands that a body is what the endpoint for appends answers."""
    name = "Refused" if status != 200 else "Standing" if "length" in answer else "Appended"
    _check_own("upload.json", name, answer)
    _check_known(answer, member_names(name, "upload.json"), "of the answer")
