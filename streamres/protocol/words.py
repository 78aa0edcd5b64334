"""The words of MCP and of the extension: versions, methods, and the keys of `_meta`."""

from __future__ import annotations

from typing import Final

VERSION: Final = "2026-07-28"
"""The protocol version that is spoken in full."""

LEGACY_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions that begin with `initialize`, newest first."""

SESSIONLESS: Final = "2024-11-05"
"""The one of them whose HTTP transport is another: over Streamable HTTP it knows no session."""

EXTENSION: Final = "dev.streamres/streamable-resources"
"""The id under which both sides declare the extension (section 10)."""

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
"""The id of the tasks extension (SEP-2663)."""

STREAM_META: Final = "dev.streamres/stream"
"""The key of `_meta` that holds the extension's members in the `meta` binding (SR-10.3)."""

VERSION_META: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_META: Final = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_META: Final = "io.modelcontextprotocol/clientCapabilities"
SUBSCRIPTION_META: Final = "io.modelcontextprotocol/subscriptionId"
SERVER_INFO_META: Final = "io.modelcontextprotocol/serverInfo"

VERSION_HEADER: Final = "mcp-protocol-version"
METHOD_HEADER: Final = "mcp-method"
NAME_HEADER: Final = "mcp-name"
SESSION_HEADER: Final = "mcp-session-id"

NAMED_BY: Final = {
    "resources/read": "uri",
    "tools/call": "name",
    "prompts/get": "name",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Methods whose `mcp-name` header repeats a parameter, and which."""

DISCOVER: Final = "server/discover"
LIST: Final = "resources/list"
TEMPLATES: Final = "resources/templates/list"
READ: Final = "resources/read"
LISTEN: Final = "subscriptions/listen"
TOOLS_LIST: Final = "tools/list"
CALL: Final = "tools/call"
TASKS_GET: Final = "tasks/get"
TASKS_UPDATE: Final = "tasks/update"
TASKS_CANCEL: Final = "tasks/cancel"
INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"
PING: Final = "ping"
SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"

UPDATED: Final = "notifications/resources/updated"
LIST_CHANGED: Final = "notifications/resources/list_changed"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
TOOLS_CHANGED: Final = "notifications/tools/list_changed"
PARTIAL_RESULT: Final = "notifications/tools/partial_result"
"""What SEP-2998 proposes."""

OUTPUTS: Final = "notifications/tools/outputs"
"""What names the outputs of a call when its work starts (SR-8.2); to clients that declare the extension only."""

TASK_STATUS: Final = "notifications/tasks"

PARAM_HEADER: Final = "mcp-param-"
"""How the headers begin that repeat an argument of a tool."""
