"""The client: read, listen to and follow streamable resources of any MCP server, and call its tools."""

from streamres.client.calls import CallResult, InputRequired, OfferedTool, Partial, Progress
from streamres.client.client import Client, Subscription
from streamres.client.connection import Timeouts
from streamres.client.push import Producer
from streamres.client.wire import ListChanged, Listed, ToolsChanged, Updated

__all__ = [
    "CallResult",
    "Client",
    "InputRequired",
    "ListChanged",
    "Listed",
    "OfferedTool",
    "Partial",
    "Producer",
    "Progress",
    "Subscription",
    "Timeouts",
    "ToolsChanged",
    "Updated",
]
