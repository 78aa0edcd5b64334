"""A tool's schemas out of a function's signature, and the function called with what they allow."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, get_type_hints

import anyio.to_thread
from pydantic import (
    BaseModel,
    ConfigDict,
    PydanticSchemaGenerationError,
    TypeAdapter,
    ValidationError,
    create_model,
)

from streamres.errors import ToolError
from streamres.protocol.blocks import Block
from streamres.tools.result import ToolResult

if TYPE_CHECKING:
    from streamres.tools.context import Context

_DATA: Final = frozenset({"const", "default", "enum", "examples"})
"""The keywords of a schema that hold values, no schemas."""

Handler = Callable[["Context", Mapping[str, Any]], Awaitable[object]]
"""Runs a tool with arguments that its schema allows."""


class Signature:
    """What a function takes and gives.

    Raises:
        TypeError: a parameter cannot be named in JSON, or has a type that no JSON has.
    """

    def __init__(self, function: Callable[..., Any], context_type: type) -> None:
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function)
        hints = get_type_hints(function, include_extras=True)
        self._context: str | None = None
        fields: dict[str, Any] = {}
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise TypeError(
                    f"{function.__name__}: {name} cannot be an argument of a tool, which all have names"
                )
            if hints.get(name) is context_type:
                self._context = name
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[name] = (hints.get(name, Any), default)
        try:
            self._model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
            self.input_schema = _untitled(self._model.model_json_schema())
            self._output = _adapter(hints.get("return"))
        except PydanticSchemaGenerationError as exc:
            raise TypeError(f"{function.__name__}: {exc.message}") from exc
        self.output_schema = None if self._output is None else _output_schema(self._output)

    async def handle(self, context: Context, arguments: Mapping[str, Any]) -> object:
        """Calls the function, in a thread where it is none that can wait.

        Raises:
            ToolError: the arguments are not what the schema allows.
        """
        try:
            model = self._model.model_validate(arguments)
        except ValidationError as exc:
            raise ToolError(_explained(exc)) from exc
        given = {name: getattr(model, name) for name in type(model).model_fields}
        if self._context is not None:
            given[self._context] = context
        if self._is_async:
            return await self._function(**given)
        return await anyio.to_thread.run_sync(partial(self._function, **given), abandon_on_cancel=True)

    def dumped(self, value: object) -> object:
        """Gives what the function gave as JSON has it.

        Raises:
            ToolError: it is not what the output schema allows.
        """
        if self._output is None:
            return value
        try:
            return self._output.dump_python(self._output.validate_python(value), mode="json", by_alias=True)
        except ValidationError as exc:
            raise ToolError(f"the tool gave what its output schema forbids: {_explained(exc)}") from exc


def _adapter(returns: type | None) -> TypeAdapter[Any] | None:
    if returns is None or returns is ToolResult or (isinstance(returns, type) and issubclass(returns, Block)):
        return None
    is_structured = (isinstance(returns, type) and issubclass(returns, BaseModel)) or hasattr(
        returns, "__dataclass_fields__"
    )
    if is_structured or getattr(returns, "__origin__", returns) is dict or hasattr(returns, "__total__"):
        return TypeAdapter(returns)
    return None


def _output_schema(adapter: TypeAdapter[Any]) -> dict[str, Any] | None:
    schema = _untitled(adapter.json_schema(mode="serialization"))
    return schema if schema.get("type") == "object" else None


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the titles that pydantic makes of names: a model pays for each."""
    for name, value in list(schema.items()):
        if name in _DATA:
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                _untitled(inner)
    if isinstance(schema.get("title"), str):
        del schema["title"]
    return schema


def _explained(exc: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, error['loc'])) or 'arguments'}: {error['msg']}"
        for error in exc.errors(include_url=False, include_context=False, include_input=False)
    )
