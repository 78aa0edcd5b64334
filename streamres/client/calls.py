"""What servers say of tools and calls, read into values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from streamres.errors import ProtocolError
from streamres.protocol.parameters import HeaderArgument, header_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAID: Final = frozenset({"name", "title", "description", "inputSchema", "outputSchema", "annotations"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A tool in a server's list."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    """The members that have no place here, as `icons` and `_meta`."""
    headers: tuple[HeaderArgument, ...] = ()
    """The arguments that HTTP headers repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a call is: `value` grows, up to `total` where that is known."""

    value: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """One partial result (SEP-2998), as it came: in any order, or twice."""

    seq: int
    content: tuple[Mapping[str, Any], ...] = ()
    structured: object = None
    final: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The result of a call: MCP's content blocks as they came, and what else it says."""

    content: tuple[Mapping[str, Any], ...]
    structured: object = None
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text of all text blocks, in a row."""
        return "".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRequired:
    """What a server asks before it goes on: call again with the responses, and with the `state` as it came."""

    requests: Mapping[str, Mapping[str, Any]]
    state: str | None = None
    task_id: str | None = None
    """The task that waits for it, where it is one that asks; `Client.wait_task` takes the responses then."""


def tools_page(result: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], str | None]:
    """Gives the entries of one page of `tools/list`, and the cursor of the next.

    Raises:
        ProtocolError: it is malformed.
    """
    tools, cursor = result.get("tools"), result.get("nextCursor")
    if not isinstance(tools, list) or not _are_objects(tools) or not (cursor is None or isinstance(cursor, str)):
        raise ProtocolError("the list of tools is malformed")
    return tools, cursor


def offered(entry: Mapping[str, Any], *, has_headers: bool) -> OfferedTool:
    """Gives the tool of an entry; `has_headers` where a call of it has HTTP headers.

    Raises:
        ValueError: it is none, or one whose header annotations are invalid.
    """
    match entry:
        case {"name": str(name), "inputSchema": dict(schema)}:
            output, annotations = entry.get("outputSchema"), entry.get("annotations")
            return OfferedTool(
                name=name,
                title=_text(entry.get("title")),
                description=_text(entry.get("description")),
                input_schema=schema,
                output_schema=output if isinstance(output, dict) else None,
                annotations=annotations if isinstance(annotations, dict) else {},
                more={member: value for member, value in entry.items() if member not in _SAID},
                headers=header_arguments(schema) if has_headers else (),
            )
        case _:
            raise ValueError("it lacks its name or its input schema")


def progress_of(params: Mapping[str, Any]) -> Progress | None:
    """Gives the progress of a notification; None where it is malformed."""
    match params:
        case {"progress": int() | float() as value}:
            total = params.get("total")
            total = total if isinstance(total, int | float) else None
            return Progress(value=value, total=total, message=_text(params.get("message")))
        case _:
            return None


def partial_of(params: Mapping[str, Any]) -> Partial | None:
    """Gives the partial of a notification; None where it is malformed."""
    match params:
        case {"seq": int(seq)} if seq >= 0 and not isinstance(seq, bool):
            content, meta = params.get("content", []), params.get("_meta")
            if not _are_objects(content):
                return None
            return Partial(
                seq=seq,
                content=tuple(content),
                structured=params.get("structuredContent"),
                final=params.get("final") is True,
                meta=meta if isinstance(meta, dict) else {},
            )
        case _:
            return None


def call_result(result: object) -> CallResult:
    """Gives the value of a `CallToolResult`.

    Raises:
        ProtocolError: it is malformed.
    """
    match result:
        case {"content": content, **rest} if _are_objects(content):
            meta = rest.get("_meta")
            return CallResult(
                content=tuple(content),
                structured=rest.get("structuredContent"),
                is_error=rest.get("isError") is True,
                meta=meta if isinstance(meta, dict) else {},
            )
        case _:
            raise ProtocolError("the result of a call has no content")


def input_required(result: Mapping[str, Any]) -> InputRequired:
    """Gives what a result of the type `input_required` asks.

    Raises:
        ProtocolError: it is malformed.
    """
    state = result.get("requestState")
    if not (state is None or isinstance(state, str)):
        raise ProtocolError("requestState is a string")
    return InputRequired(requests=requests_of(result), state=state)


def requests_of(members: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Gives the requests by their keys in a result or a task that asks.

    Raises:
        ProtocolError: they are malformed.
    """
    requests = members.get("inputRequests", {})
    if not isinstance(requests, dict) or not all(
        isinstance(request, dict) and isinstance(request.get("method"), str) for request in requests.values()
    ):
        raise ProtocolError("inputRequests maps keys to requests")
    return requests


def _are_objects(values: object) -> TypeGuard[list[Mapping[str, Any]]]:
    return isinstance(values, list) and all(isinstance(value, dict) for value in values)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
