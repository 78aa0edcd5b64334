"""The clauses that no request shows, each with the reason that the report gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_READER: Final = "binds the reader"
_PERMISSION: Final = "a permission"
_TOOL: Final = "needs a tool whose output is streamable; which one it is cannot be told from outside"
_PARTIALS: Final = "needs a tool that sends partial results (SEP-2998)"
_BRIDGE: Final = "binds who keeps the partial results of another server"

UNSEEN: Final[Mapping[str, str]] = {
    "SR-2.4.a": _PERMISSION,
    "SR-3.3": "a permission; SR-3.2 holds for what is merged",
    "SR-3.5.a": _PERMISSION,
    "SR-3.6.a": _PERMISSION,
    "SR-3.7": "needs a store that lost history",
    "SR-4.1": _READER,
    "SR-4.2.b": "needs a restart",
    "SR-5.3.b": _READER,
    "SR-5.4.b": "a permission; to see it would take as long as maxWaitMs",
    "SR-5.5.d": _READER,
    "SR-5.5.e": _READER,
    "SR-5.9.b": _PERMISSION,
    "SR-6.3.d": _READER,
    "SR-6.4": "shows in the server's memory, not on the wire",
    "SR-8.1.b": _TOOL,
    "SR-8.2": _TOOL,
    "SR-8.3.a": _TOOL,
    "SR-8.3.b": _TOOL,
    "SR-8.4.a": "needs a producer that names what led to its output",
    "SR-8.4.b": "binds the client",
    "SR-9.1.a": _PERMISSION,
    "SR-9.2.a": _PERMISSION,
    "SR-9.2.c": _PERMISSION,
    "SR-10.6": "binds the client",
    "SR-11.1.a": _PARTIALS,
    "SR-11.1.b": _PARTIALS,
    "SR-11.1.c": _PARTIALS,
    "SR-11.1.d": _PARTIALS,
    "SR-11.2.a": _BRIDGE,
    "SR-11.2.b": _BRIDGE,
    "SR-11.2.c": _BRIDGE,
    "SR-11.3": _PARTIALS,
    "SR-12.1.a": "needs the rights and the time to live of the server's own users",
    "SR-12.1.b": "needs a reader whose access ends meanwhile",
}
