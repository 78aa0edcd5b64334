"""One tool: what it is called and takes, and what runs it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry

from streamres.errors import HeaderMismatch, ToolError
from streamres.protocol.parameters import HeaderArgument, header_arguments, repeats
from streamres.tools.context import Context
from streamres.tools.signature import Signature

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamres.tools.signature import Handler

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as it is offered."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    handle: Handler
    dumped: Callable[[object], object]
    task_after_s: float | None = None
    """Seconds after which a call becomes a task, for a client that takes tasks; None is never."""
    task_required: bool = False
    """Whether a client that takes no tasks is refused."""
    timeout_s: float | None = None
    """Seconds that a call may take; None leaves it at `Limits.call_s`."""
    headers: tuple[HeaderArgument, ...] = ()
    passes_on: bool = False
    """Whether the state of a call that asks is the tool's own affair; see `Context.pass_on`."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other members of MCP's `Tool`, as `icons` and `_meta`."""

    def listed(self) -> dict[str, Any]:
        """Gives the members of MCP's `Tool`."""
        members: dict[str, Any] = {**self.more, "name": self.name}
        if self.title is not None:
            members["title"] = self.title
        if self.description is not None:
            members["description"] = self.description
        members["inputSchema"] = self.input_schema
        if self.output_schema is not None:
            members["outputSchema"] = self.output_schema
        if self.annotations:
            members["annotations"] = self.annotations
        return members

    def demand_headers(self, arguments: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        """Demands that the headers repeat the arguments (SEP-2243); `headers` are by their names after the prefix.

        Raises:
            HeaderMismatch: one is missing, or says something else.
        """
        for header in self.headers:
            value = header.of(arguments)
            raw = headers.get(header.name.lower())
            if value is None and raw is None:
                continue
            if value is None or raw is None or not repeats(raw, value):
                where = ".".join(header.path)
                raise HeaderMismatch(f"the header Mcp-Param-{header.name} is not params.arguments.{where}")


def tool_of(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    annotations: Mapping[str, Any] | None = None,
    streaming: bool = False,
    task_after_s: float | None = None,
    task_required: bool = False,
    timeout_s: float | None = None,
) -> Tool:
    """Gives the tool that calls `function`; see `Server.tool`.

    Raises:
        TypeError: the function's parameters are not what a tool can have.
        ValueError: the name or a schema is none.
    """
    named = name or function.__name__
    if not _NAME.fullmatch(named):
        raise ValueError(f"{named!r} is no name of a tool: 1 to 128 of A-Z, a-z, 0-9, '_', '-' and '.'")
    if input_schema is None:
        signature = Signature(function, Context)
        input_schema = signature.input_schema
        handle: Handler = signature.handle
        dumped: Callable[[object], object] = signature.dumped
        gives: Mapping[str, Any] | None = output_schema or signature.output_schema
    else:
        handle, dumped = _checked(function, _validator(named, input_schema)), _same
        gives = output_schema
    if output_schema is not None:
        dumped = _demanding(dumped, _validator(named, output_schema))
    says = dict(annotations or {})
    if streaming:
        says["streamingHint"] = True
    return Tool(
        name=named,
        title=title,
        description=description or (function.__doc__ or "").strip().partition("\n\n")[0] or None,
        input_schema=input_schema,
        output_schema=gives,
        annotations=says,
        handle=handle,
        dumped=dumped,
        task_after_s=0.0 if task_required and task_after_s is None else task_after_s,
        task_required=task_required,
        timeout_s=timeout_s,
        headers=_headers(named, input_schema),
    )


def _checked(function: Callable[..., Any], validator: Draft202012Validator) -> Handler:
    async def handle(context: Context, arguments: Mapping[str, Any]) -> object:
        _validate(validator, arguments, "")
        return await function(context, arguments)

    return handle


def _demanding(dumped: Callable[[object], object], validator: Draft202012Validator) -> Callable[[object], object]:
    def demand(value: object) -> object:
        given = dumped(value)
        _validate(validator, given, "the tool gave what its output schema forbids: ")
        return given

    return demand


def _same(value: object) -> object:
    return value


def _validator(name: str, schema: Mapping[str, Any]) -> Draft202012Validator:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as exc:
        raise ValueError(f"tool {name!r}: {exc.message}") from exc
    # An empty registry: nothing is fetched for a schema that refers to elsewhere.
    return Draft202012Validator(schema, registry=Registry())


def _validate(validator: Draft202012Validator, value: object, before: str) -> None:
    try:
        validator.validate(value)
    except ValidationError as exc:
        raise ToolError(f"{before}{exc.json_path}: {exc.message}") from exc


def _headers(name: str, schema: Mapping[str, Any]) -> tuple[HeaderArgument, ...]:
    try:
        return header_arguments(schema)
    except ValueError as exc:
        raise ValueError(f"tool {name!r}: {exc}") from exc
