"""What one message of tools and tasks may be: results, progress, outputs, partials, tasks (sections 8 and 11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema.exceptions import best_match

from .official import model
from .schemas import inlined, member_names

STREAM = "dev.streamres/stream"

TASK_CALLS = {"tasks/get", "tasks/update", "tasks/cancel"}
CALLS = {"tools/list", "tools/call", *TASK_CALLS}
OUTPUTS = "notifications/tools/outputs"
PARTIAL = "notifications/tools/partial_result"
PROGRESS = "notifications/progress"
TASK = "notifications/tasks"

_RESULTS = {"tools/list": "ListToolsResult", "tasks/update": "EmptyResult", "tasks/cancel": "EmptyResult"}
_OF_A_CALL = {"complete": "CallToolResult", "input_required": "InputRequiredResult"}
_TASK = {"taskId": str, "status": str, "createdAt": str, "lastUpdatedAt": str, "ttlMs": int, "pollIntervalMs": int}
_BY_STATUS = {
    "working": set[str](),
    "input_required": {"inputRequests"},
    "completed": {"result"},
    "failed": {"error"},
    "cancelled": set[str](),
}


def check_task_request(method: str, params: Mapping[str, Any]) -> None:
    """Demands that a request is one of the tasks extension."""
    model("RequestParams").model_validate({"_meta": params["_meta"]})
    members = {"taskId", "_meta"} | ({"inputResponses"} if method == "tasks/update" else set())
    assert set(params) == members, set(params)
    assert isinstance(params["taskId"], str)
    extensions = params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"]
    assert extensions["io.modelcontextprotocol/tasks"] == {}


def check_call_result(method: str, result: Mapping[str, Any]) -> None:
    """Demands that a result is one of a method of tools or tasks."""
    kind = result["resultType"]
    if method == "tasks/get" or (method == "tools/call" and kind == "task"):
        assert kind == ("complete" if method == "tasks/get" else "task"), kind
        _check_task(result)
    else:
        model(_RESULTS.get(method) or _OF_A_CALL[kind]).model_validate(result)
        for block in result.get("content", ()):
            if "stream" in block:
                _check({"outputs": [block]}, "OutputsMembers")


def check_call_notification(method: str, params: Mapping[str, Any], *, binding: str) -> None:
    """Demands that a notification is one that a call or a task leads to."""
    if method == PROGRESS:
        model("ProgressNotificationParams").model_validate(params)
    elif method == OUTPUTS:
        _check(_in_fields(params) if binding == "meta" else params, "OutputsNotificationParams")
    elif method == PARTIAL:
        _check(params, "PartialResultNotificationParams")
        standing = params["_meta"][STREAM]
        assert set(standing) <= member_names("PartialStanding", "calls.json"), set(standing)
        model("CallToolResult").model_validate({"resultType": "complete", "content": params["content"]})
    else:
        assert method == TASK, method
        _check_task(params)


def _in_fields(params: Mapping[str, Any]) -> dict[str, Any]:
    """What a notification in the binding `meta` says, in the open."""
    links = [{**link, "stream": link["_meta"][STREAM]["stream"]} for link in params["_meta"][STREAM]["outputs"]]
    return {"requestId": params["requestId"], "outputs": links}


def _check(params: Mapping[str, Any], name: str) -> None:
    error = best_match(inlined("calls.json", name).iter_errors(params))
    assert error is None, f"{name} at {error.json_path}: {error.message[:300]}"
    assert set(params) <= member_names(name, "calls.json"), set(params)
    for link in params.get("outputs", ()):
        assert set(link["stream"]) <= member_names("ResourceStream"), link


def _check_task(task: Mapping[str, Any]) -> None:
    for name, type_ in _TASK.items():
        assert isinstance(task[name], type_), name
    added = set(task) - set(_TASK) - {"resultType", "statusMessage", "outputs", "_meta"}
    assert added == _BY_STATUS[task["status"]], added
    _check({"outputs": task["outputs"]} if "outputs" in task else {}, "OutputsMembers")
    if "result" in task:
        model("CallToolResult").model_validate(task["result"])
