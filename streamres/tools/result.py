"""What a tool gives, as the members of a `CallToolResult`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamres.errors import ToolError
from streamres.protocol.blocks import Block, Text, block_members

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """A result in full, for a tool whose return value says less than it wants to."""

    content: Sequence[Block] = ()
    structured: object = None
    """What the output schema describes; None for nothing."""
    meta: Mapping[str, Any] | None = None
    """What the result has in `_meta`."""
    is_error: bool = False
    """Whether the caller is to take it for a failure, as the exit status of a command that failed."""


def result_of(value: object) -> ToolResult:
    """Gives the result that a returned value stands for.

    A text or a block is the content, or a list of them; None is no content; anything else is structured content,
    and its JSON the text of it.

    Raises:
        ToolError: it has no JSON.
    """
    match value:
        case ToolResult():
            return value
        case None:
            return ToolResult()
        case str():
            return ToolResult(content=[Text(value)])
        case list() | tuple() if value and all(isinstance(item, str | Block) for item in value):
            return ToolResult(content=[Text(item) if isinstance(item, str) else item for item in value])
        case _ if isinstance(value, Block):
            return ToolResult(content=[value])
        case _:
            try:
                text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            except (TypeError, ValueError) as exc:
                raise ToolError(f"the tool gave what is no JSON: {exc}") from exc
            return ToolResult(content=[Text(text)], structured=value if isinstance(value, dict) else None)


def result_members(result: ToolResult, links: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Gives the members of a `CallToolResult`, with links to the outputs of the call (SR-8.3.b)."""
    members: dict[str, Any] = {"content": [*map(block_members, result.content), *links]}
    if result.structured is not None:
        members["structuredContent"] = result.structured
    if result.is_error:
        members["isError"] = True
    if result.meta:
        members["_meta"] = result.meta
    return members
